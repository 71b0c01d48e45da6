"""The checks of the claims about the project's own results."""

from __future__ import annotations

import math

import numpy as np

from reproduction.ledger.claims import (
    Claim,
    Finding,
    NotCheckable,
    Tables,
    finding,
    require_rows,
    require_values,
)
from reproduction.ledger.stated_numbers import numbers_agree

__all__ = ["numbers_agree", "rows_keep_a_limit"]


def rows_keep_a_limit(tables: Tables, claim: Claim) -> Finding:
    """Decide by the rows of a table: what is measured in each of them must keep a limit.

    ``arguments`` has ``rows``, a condition; ``measured``, expressions of columns; ``at_least`` or
    ``at_most``, the limit of all of them; and maybe ``instances``, how many tables of counts there must be.
    """
    rows = tables[claim.tables[0]]
    rows = require_rows(rows.query(claim.arguments["rows"]) if len(rows) else rows, claim.where)
    found = rows["instance"].nunique()
    if found < (needed := claim.arguments.get("instances", 1)):
        raise NotCheckable(f"The statement is about {needed} tables of counts; there are {found}.")
    least, most = claim.arguments.get("at_least", -math.inf), claim.arguments.get("at_most", math.inf)
    expressions = claim.arguments["measured"]
    # What is stated to be infinite may be.
    measured = np.concatenate([require_values(rows, x, infinite=least == math.inf) for x in expressions])
    low, high = float(measured.min()), float(measured.max())
    computed = f"{low:.3g} to {high:.3g}" if low < high else f"{low:.3g}"
    limit = f"at least {least:g}" if least > -math.inf else f"at most {most:g}"
    words = f"{' and '.join(claim.arguments['measured'])}: {computed}, in {len(rows)} rows of {found} tables."
    kept = bool(((measured >= least) & (measured <= most)).all())
    return finding(words, kept, f"The limit is {limit}.", computed=computed, n=len(rows))
