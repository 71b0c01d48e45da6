"""The optimum over F on the random tables of lopuhaa2024, and what its summaries say of it."""

from __future__ import annotations

from functools import partial

from beyond.solutions import SOLVERS
from papers.lopuhaa2024 import synthetic
from papers.lopuhaa2024.summaries import FIG3, FIG4, TABLE2, fig3, fig4, table2

__all__ = ["FIG3", "FIG4", "TABLE2", "fig3", "fig4", "study", "table2"]

#: As `lopuhaa2024.synthetic` has it.
study = partial(synthetic.study, solvers=SOLVERS)
