"""Columns of any cone that is known by cuts, such as that of F, by spatial branch and bound."""
