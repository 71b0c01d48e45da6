"""Documents that claim levels of a channel that is used as it is, in whole numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from ldpfrontier.certificates.association import ASSUMED_ODDS, association_claim
from ldpfrontier.certificates.document import JsonDocument, level_claim, new_document, read, utility_claim
from ldpfrontier.certificates.nonrobust import ASSUMED
from ldpfrontier.certificates.numbers import WholeRows, written_channel
from ldpfrontier.certificates.privacy import uncertainty_claim
from ldpfrontier.model.optimum import MAX_EPSILON, checked_epsilon
from ldpfrontier.numerics.arguments import are_counts, as_instance, as_numbers, excerpt
from ldpfrontier.uncertainty.odds_ratios import OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


def level_certificate(
    counts: ArrayLike,
    rows: WholeRows,
    levels: Mapping[str, float],
    *,
    ball: RenyiBall | None = None,
    odds: OddsRatios | None = None,
) -> JsonDocument:
    """Return a document that claims levels of a channel of whole numbers, and its utility at a table.

    `ldpfrontier.verify.check` proves the claims, or says which one it does not prove.

    Parameters
    ----------
    counts : array_like of int, shape (a1, a2)
        The table.
    rows : sequence of sequence of int
        Numerators of the channel, a row for every pair of the table; all rows have the same sum.
    levels : mapping of str to float
        Nats, by kind: ``"local privacy"``, ``"privacy given U"``, ``"unconditional privacy"``, ``"privacy
        over F"`` and ``"privacy for all who know something about U"``.
    ball : RenyiBall, optional
        F, of an order above 1 and a finite radius; for the fourth kind.
    odds : OddsRatios, optional
        For the last kind.

    Raises
    ------
    ValueError
        If a kind is unknown or lacks what it is about, or F has another order or radius.
    """
    cells, listed = as_numbers(counts, "The table"), isinstance(rows, Sequence) and not isinstance(rows, str)
    listed = listed and all(isinstance(row, Sequence) for row in rows)
    listed = listed and all(type(n) is int and n >= 0 for row in rows for n in row)
    if not listed or len({(len(row), sum(row)) for row in rows}) != 1 or not any(rows[0]):
        raise ValueError("The rows must be lists of whole numbers, equally long and with the same sum.")
    if cells.ndim != 2 or cells.size != len(rows) or not are_counts(cells) or not cells.any():
        raise ValueError(f"The table has shape {cells.shape}; it must have counts of {len(rows)} pairs.")
    if not isinstance(levels, Mapping):
        raise ValueError(f"The levels are {excerpt(levels)}; they must be a mapping from kinds to nats.")
    if ball is not None:
        as_instance(ball, RenyiBall, "The ball")
    if odds is not None:
        as_instance(odds, OddsRatios, "The odds ratios")
    table = [[str(int(n)) for n in row] for row in cells.tolist()]
    document = new_document({"kind": "mutual information", "table": table})
    document |= {"channel": written_channel(rows)}
    claims = [utility_claim(read(document))]
    for kind, level in levels.items():
        level = checked_epsilon(level, MAX_EPSILON)
        if kind in ("local privacy", "privacy given U", "unconditional privacy"):
            claims += level_claim(kind, level)(rows)
        elif kind == "privacy over F" and ball is not None:
            claims.append(uncertainty_claim(ball, level, rows))
            document["note"] = ASSUMED
        elif kind == "privacy for all who know something about U" and odds is not None:
            claims.append(association_claim(odds, level))
            document["note"] = ASSUMED_ODDS
        else:
            raise ValueError(f"The level {kind!r} is unknown, or what it is about is missing.")
    return document | {"claims": claims}
