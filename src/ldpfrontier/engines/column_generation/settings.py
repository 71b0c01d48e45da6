"""Accuracy and tuning of column generation, and what its callers share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnGenerationSettings:
    """Numbers that column generation is run with; gaps and shares are relative."""

    # Stated limits.
    #: Gap of PolyOpt below which no refinement of its decomposition is worked for.
    finest_gap: float = 3e-5

    # Accuracy and safety.
    #: Steps of an interior point method, after which the last one is used: a limit against a stall. Bounds
    #: hold at any prices.
    max_interior_steps: int = 60

    # Tuning. Insensitive: with half and twice the value of each number, errors over F and bounds change by at
    # most 3e-3 where 1e-2 was asked for, on 10 cells; twice the batch takes twice the time there.
    #: Rounds of a search or a bound whose caller names no number, after which the best so far has to do.
    usual_rounds: int = 40
    #: Columns added per round, best first, and columns that a search over a cone of cuts starts from.
    batch: int = 40
    #: Positions between the duals of the master (0) and those of the best bound (1) at which columns are
    #: priced, in the order tried: the former oscillate, and pricing nearer the latter damps that (Wentges
    #: smoothing). Position 0 comes last, so that no improving column is missed.
    smoothing: tuple[float, ...] = (0.9, 0.7, 0.4, 0.0)
    #: Share of a tolerance that an inner problem (decomposing, pricing, searching) may use up, and of the
    #: best reduced cost that a bound may be above it. Over distinct pairs it does not matter from 0.1 to 0.3.
    inner_share: float = 0.3


SETTINGS = ColumnGenerationSettings()
