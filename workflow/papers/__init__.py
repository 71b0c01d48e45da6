"""The papers, one folder each; `reproduction.planning.paper` finds them and says what a folder has."""
