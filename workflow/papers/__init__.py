"""The papers, one folder each; `reproduction.planning.paper` finds them and describes their contents."""
