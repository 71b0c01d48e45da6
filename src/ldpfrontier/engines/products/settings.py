"""Limits, accuracy and tuning of PolyOpt, and of pricing, decomposing and coupling product columns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProductsSettings:
    """Constants of the modules of this folder; lengths of lists are numbers, gaps and shares are relative."""

    # Stated limits.
    #: Beyond that, simplex iterations of the decomposition, times the rows of its programs: 20 s. Without a
    #: limit 500 x 2 took minutes at epsilon 10, and the gap is 0.4% with it.
    max_simplex_work: float = 3e8

    # Accuracy and safety.
    #: The least that levels may be off, in nats.
    level_rounding: float = 1e-14
    #: Cells of any grid, at 8 bytes per block: 2 MB each.
    max_cells: int = 2**18
    #: Gap of a decomposition of which nothing else is asked.
    finest_gap: float = 1e-9
    #: Most rounds of a decomposition.
    max_rounds: int = 500
    #: Relative rounding of the reduced cost of a column.
    rounding: float = 1e-12
    #: Reduced costs, and differences of levels, up to which there is nothing but rounding.
    negligible: float = 1e-9

    # Tuning: pricing. Tuned on Adult 16 x 7.
    #: Additions that the tables of one pricing may take, by effort.
    additions: tuple[int, ...] = (100_000_000, 300_000_000, 1_000_000_000)
    #: Products with up to so many combinations of vertices are enumerated.
    max_enumerated: int = 200_000

    # Tuning: decomposition and coupling. Tuned on Adult 16 x 7.
    #: Vertices added per block and round.
    batch: int = 3
    #: Gap of a decomposition that is a start only. On Adult 16 x 7 it does not matter from 1e-4 to 1e-2.
    start_gap: float = 1e-3
    #: Classes whose means of Z are within this ratio are coupled together; 1.02 moves values by up to 3e-5.
    coupling_ratio: float = 1.05
    #: Times that every block joins a coupling.
    coupling_sweeps: int = 2

    # Tuning: the family of a ball. Tuned on Adult 16 x 7.
    #: Up to so many sensitive values, joint columns are priced to the end and all deltas are looked at; of
    #: more, so many values can be special, the most probable first.
    few_groups: int = 3
    #: Deltas of distinct pairs, as shares of the largest one, with few sensitive values.
    deltas: tuple[float, ...] = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8, 1.0)
    #: The same with more sensitive values.
    coarse_deltas: tuple[float, ...] = (0.25, 0.5, 1.0)
    #: Best vertices of a body that are polished in a round; half of them with one letter moved, too, when
    #: other deltas are looked at. A dual bound polishes half as many at a new knot, twice as many at t = 0
    #: whenever duals are new, and keeps half as many violations of a block at a time.
    polished: int = 12
    #: Vertices kept of a body whose list is long, for the time and memory of pricing; those in use are kept
    #: besides.
    max_vertices: int = 1_000


SETTINGS = ProductsSettings()
