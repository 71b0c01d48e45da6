"""What the toy draws."""

import pandas as pd
from matplotlib.figure import Figure

from reproduction.figure_style import style


def rates(table: pd.DataFrame) -> Figure:
    """Draw truth against the privacy level."""
    with style():
        figure = Figure(figsize=(3, 2))
        figure.subplots().plot(table["epsilon"], table["value"])
    return figure
