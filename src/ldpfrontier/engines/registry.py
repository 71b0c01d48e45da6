"""Which engine serves which class of mechanisms, utility and size: one list, which the solvers decide by.

`choose` returns the first entry of a class that serves a call. The table of the documentation is made from
the same list (`tools/make_docs.py`), and `Optimum.method` names the entry that ran.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ldpfrontier.model.optimum import Method


@dataclass(frozen=True)
class Limits:
    """Sizes, levels, orders and radii up to which an engine is the one that runs; cells are of a table."""

    #: Inputs up to which all 2^k staircase columns are listed; pricing 2^20 of them takes about 20 ms. Of an
    #: f-divergence, all intervals of up to twice as many are in the linear program from the start.
    max_listed_inputs: int = 20
    #: Inputs up to which columns are generated where a packing leaves a gap: with more it is below 1e-8.
    max_generation_inputs: int = 256
    #: Cells of a table, or entries of a column, up to which columns are found jointly: over F at epsilon = 1,
    #: the default nodes leave gaps of 1e-4 on 3 x 4, 4e-3 on 4 x 4 and 2e-2 on 4 x 5 random tables.
    max_joint_cells: int = 16
    #: Cells up to which a mechanism over F is improved by a search for joint columns: up to 3% of utility.
    max_search_cells: int = 30
    #: Cells up to which restricted masters are solved: their programs are dense.
    max_master_cells: int = 400
    #: Inputs of approximately private mechanisms: 94,465 columns are listed for 7.
    max_approximate_inputs: int = 7
    #: Sensitive values up to which the optimum over F is tried.
    max_sensitive: int = 60
    #: Subsets of useful values up to which it is: on 42 x 15, half as many, it takes 18 s and 400 MB.
    max_subsets: int = 2**22
    #: Inputs of a polyhedral cone up to which its extreme rays are listed: PolyOpt's on 2 x 6 in a second.
    max_ray_inputs: int = 13
    #: Useful values up to which those of mechanisms that see these alone are, if distributions are known: an
    #: extreme ray has at most as many letters as there are sensitive values.
    max_known_inputs: int = 60
    #: Inputs up to which all 2^n - 2 extreme rays of LDP are listed: 3 s for a least error; 10 s with 15.
    max_staircase_inputs: int = 14
    #: Extreme rays of a polyhedral cone, also on the way to them, up to which they are; the least error over
    #: 23,000 of 2 x 6 takes 10 s.
    max_rays: int = 30_000
    #: Block vertices of a table up to which joint columns are priced to the exact optimum.
    max_exact_vertices: int = 1_500
    #: Block vertices up to which those of a product are all kept, and not the ones alone that matter.
    max_kept_vertices: int = 50_000
    #: Levels, in nats, at which anything but the simplices of PolyOpt is solved.
    epsilons: tuple[float, float] = (0.01, 15.0)
    #: Orders of the uncertainty sets that are.
    orders: tuple[float, float] = (0.25, 4.0)
    #: Radius below which nothing but the simplex is tried: the gap of its class to NR is below 1e-9 there.
    least_radius: float = 1e-20


LIMITS = Limits()


def is_in_range(radius: float, order: float, epsilon: float) -> bool:
    """Tell whether more than the simplices of PolyOpt is solved at a radius, an order and a level (nats)."""
    low, high = LIMITS.epsilons
    least, most = LIMITS.orders
    return radius >= LIMITS.least_radius and low <= epsilon <= high and least <= order <= most


@dataclass(frozen=True)
class Call:
    """What an engine is chosen by; a class of mechanisms uses a part of it."""

    inputs: int = 0  # cells, for a table
    sensitive: int = 0  # values
    vertices: int = 0  # of all blocks
    utility: str = "mutual information"  # or "f-divergence", "any"
    listed: bool = False  # the extreme rays of the cone
    local: bool = False  # whether the cone is that of local differential privacy
    cuts_alone: bool = False  # whether the cone has no inequalities to begin with


def _every(call: Call) -> bool:
    """Serve all calls that no entry above serves."""
    return True


@dataclass(frozen=True)
class Regime:
    """An engine, and the calls of a class of mechanisms that it serves if no entry above it does."""

    cone: str  # short name of the class
    name: str  # short name of the entry within it
    size: str  # which calls, in words
    engine: str  # what runs, in words
    module: str  # where, below `ldpfrontier`
    why: str  # its bound holds: a statement of docs/beyond/theorems.md, or the module that shows it
    #: Tells the same as `size` does, except for what the solver checks or refuses itself.
    serves: Callable[[Call], bool] = _every

    def method(self, mechanisms: str = "") -> Method:
        """Return the `Optimum.method` of this entry, for a class of mechanisms."""
        return Method(mechanisms, self.engine, self.size)


_JOINT = "engines/joint/spatial_branch_and_bound"
_SECANTS = f"statement 1, with secants on boxes: `{_JOINT}.py`"


def _is_small(call: Call) -> bool:
    return call.inputs <= LIMITS.max_joint_cells


def _joint(cone: str, name: str, size: str, serves: Callable[[Call], bool] = _is_small) -> Regime:
    """Return the entry of the engine of small tables, for a class of mechanisms."""
    engine = "joint columns by spatial branch and bound"
    return Regime(cone, name, size, engine, _JOINT, _SECANTS, serves)


_TABLES = (
    f"radius from {LIMITS.least_radius:g}, level from {LIMITS.epsilons[0]:g} to {LIMITS.epsilons[1]:g}, order"
    f" from {LIMITS.orders[0]:g} to {LIMITS.orders[1]:g}"
)

_LISTED = (
    f"polyhedral, up to {LIMITS.max_ray_inputs} inputs and {LIMITS.max_rays:,} extreme rays; LDP, up to"
    f" {LIMITS.max_staircase_inputs} inputs"
)

#: In the order in which they are asked; the first entry that serves is the one that runs.
REGIMES = (
    Regime(
        "closed form",
        "closed form",
        "level 0, a single input, or a single sensitive value",
        "closed form: a single output, the identity, or the values that odds ratios tell apart",
        "model/optimum",
        "no mechanism that is allowed tells more: `model/optimum.py`, `promises/association.py`",
    ),
    Regime(
        "LDP",
        "listed",
        f"up to {LIMITS.max_listed_inputs} inputs",
        "column generation over the list of all staircase columns",
        "engines/listed/exact_cover",
        "statement 1, with all columns priced",
        lambda call: call.inputs <= LIMITS.max_listed_inputs,
    ),
    Regime(
        "LDP",
        "partition",
        "f-divergence, more inputs",
        "best partition of the inputs into blocks, which a theorem calls optimal (Ghazi, arXiv 2606.07443)",
        "engines/listed/f_divergence",
        "the theorem, which `engines/listed/f_divergence.py` states",
        lambda call: call.utility == "f-divergence",
    ),
    Regime(
        "LDP",
        "packing",
        "mutual information, more inputs",
        f"packing of the inputs; up to {LIMITS.max_generation_inputs}, column generation where a gap is left",
        "engines/listed/packing",
        "a converse, `engines/listed/converse.py`; statement 1 with `engines/listed/set_pricing.py`",
        lambda call: call.utility == "mutual information",
    ),
    Regime(
        "approximate LDP",
        "listed",
        f"delta above 0, up to {LIMITS.max_approximate_inputs} inputs",
        "column generation over the list of all columns with entries 0 and powers of e^eps",
        "engines/listed/approximate",
        "statement 14, with all columns priced",
        lambda call: call.inputs <= LIMITS.max_approximate_inputs,
    ),
    Regime(
        "approximate LDP",
        "mixture",
        "delta above 0, more inputs",
        "the truth with probability delta, else the optimum of delta 0",
        "engines/listed/approximate",
        "statement 14, by the contraction of total variation",
    ),
    Regime(
        "several",
        "least",
        f"the least of several utilities, up to {LIMITS.max_listed_inputs} inputs; delta above 0, up to"
        f" {LIMITS.max_approximate_inputs}; other cones as of one utility",
        "linear programs over the columns of optima of averages of the utilities",
        "engines/column_generation/several",
        "statement 15, with the bound on an average of the utilities",
    ),
    Regime(
        "classes",
        "saddle",
        f"two classes of distributions, up to {LIMITS.max_listed_inputs} inputs",
        "the least of several utilities, for pairs of members found by linear programs over tangents",
        "promises/robust_testing",
        "statements 15 and 16",
    ),
    Regime(
        "people",
        "vertices",
        "several people, all but one with up to 5 values",
        "a linear program for the mechanism of one person, for each choice of vertices for the others",
        "promises/distributed_testing",
        "statement 17",
    ),
    Regime(
        "unconditional",
        "listed",
        f"two sensitive values, or up to {LIMITS.max_listed_inputs} cells",
        "column generation over the list of all columns",
        "promises/unconditional",
        "statement 1, with all extreme columns priced: `promises/unconditional.py`",
        lambda call: call.sensitive <= 2 or call.inputs <= LIMITS.max_listed_inputs,
    ),
    Regime(
        "unconditional",
        "products",
        "larger tables",
        "decomposition, and column generation over products of blocks; above 400 cells coupled without it",
        "promises/unconditional",
        "statements 1, 5 and 6: `promises/unconditional.py`",
    ),
    Regime(
        "simplex",
        "exact",
        f"up to {LIMITS.max_master_cells} cells and {LIMITS.max_exact_vertices:,} block vertices",
        "decomposition, and column generation with exact pricing",
        "engines/column_generation/smoothed",
        "statements 1 and 5, with columns priced as products",
        lambda call: call.inputs <= LIMITS.max_master_cells and call.vertices <= LIMITS.max_exact_vertices,
    ),
    Regime(
        "simplex",
        "coupled",
        "larger tables",
        f"decomposition, coupled; up to {LIMITS.max_master_cells} cells a linear program weights the columns",
        "engines/products/product_optimum",
        "statement 6",
    ),
    _joint("over F", "joint", f"up to {LIMITS.max_joint_cells} cells; {_TABLES}"),
    Regime(
        "over F",
        "products",
        f"larger tables; {_TABLES}",
        "products of blocks with a shared budget, the projections among them; up to"
        f" {LIMITS.max_search_cells} cells a search for joint columns",
        "engines/projections/budget_multiplier",
        "statement 9",
    ),
    Regime(
        "least over F",
        "members",
        f"PolyOpt of up to {LIMITS.max_ray_inputs} cells and {LIMITS.max_rays:,} extreme columns; mechanisms"
        f" private over F of up to {LIMITS.max_joint_cells} cells",
        "cutting planes over members of F, with the least information proved by a polytope around F",
        "promises/least",
        "statement 19",
    ),
    Regime(
        "conditional",
        "useful told",
        "every table",
        "U as it is, and the optimum of LDP for S given each U",
        "promises/conditional",
        "`promises/conditional.py`",
    ),
    _joint("association", "joint", f"up to {LIMITS.max_joint_cells} cells"),
    Regime(
        "association",
        "search",
        "larger tables",
        f"the optimum under every distribution; up to {LIMITS.max_master_cells} cells a search for columns by"
        " linear programs over the cone",
        "engines/columns/association_program",
        "statement 11 (g): `promises/association_bound.py`",
    ),
    Regime(
        "any cone",
        "rays",
        _LISTED,
        "column generation over all extreme rays, listed in exact arithmetic",
        "engines/listed/double_description",
        "statement 1, with all extreme rays priced",
        lambda call: call.listed,
    ),
    _joint("any cone", "cuts", f"up to {LIMITS.max_joint_cells} inputs", _every),
    Regime(
        "estimates",
        "rays",
        _LISTED,
        "interior-point method over all extreme rays",
        "engines/designs/interior_point",
        "statement 12, with all extreme rays priced",
        lambda call: call.listed,
    ),
    Regime(
        "estimates",
        "staircases",
        "LDP, more inputs",
        "column generation over staircase columns from closed forms, with all priced or a semidefinite bound",
        "engines/designs/staircases",
        "statement 12, with all columns priced, or `engines/designs/staircase_relaxation.py`",
        lambda call: call.local,
    ),
    Regime(
        "estimates",
        "branches",
        f"cones known by cuts alone, such as that of F, up to {LIMITS.max_joint_cells} inputs",
        "column generation by search, and by spatial branch and bound over squares of linear forms",
        "engines/designs/branch_and_bound",
        "statement 12, with secants of squares: `engines/designs/branch_and_bound.py`",
        lambda call: call.cuts_alone and call.inputs <= LIMITS.max_joint_cells,
    ),
    Regime(
        "estimates",
        "cuts",
        f"other cones, up to {LIMITS.max_joint_cells} inputs",
        "column generation by search, with the extreme rays of larger cones for a bound",
        "engines/designs/outer_rays",
        "statement 12, over a larger cone: `engines/designs/outer_rays.py`",
        _is_small,
    ),
    Regime(
        "estimates",
        "programs",
        "F with a conditional level, acquaintances, or polyhedral, more inputs",
        "column generation by linear programs, with a bound by LDP where the promise implies it",
        "engines/designs/program_columns",
        "the least error of a larger class: `promises/estimation.py`",
    ),
    Regime(
        "any robust",
        "known",
        "where the time is up before a program is solved",
        "the best of closed forms and given mechanisms, with the bound of NR",
        "promises/closed_forms",
        "statement 9 (a)",
    ),
)


def choose(cone: str, call: Call | None = None) -> Regime:
    """Return the entry that serves a call of a class of mechanisms."""
    given = Call() if call is None else call
    return next(regime for regime in REGIMES if regime.cone == cone and regime.serves(given))


#: The functions that decide by the entries of a class, and the mechanisms of the class, in words.
_CALLED_BY = {
    "closed form": "all functions",
    "LDP": "`optimal_ldp`; for S alone `optimal_nonrobust`",
    "approximate LDP": "`optimal_ldp`, delta above 0",
    "several": "`optimal_ldp`, `optimal_mechanism`: a sequence of utilities",
    "classes": "`optimal_robust_test`: private for a test between two classes",
    "people": "`optimal_distributed_test`: private for each of several people",
    "unconditional": "`optimal_unconditional`: private under every distribution",
    "simplex": "`optimal_polyopt`: PolyOpt as published",
    "over F": '`optimal_robust(envelope="exact")`: private over F',
    "least over F": "`optimal_robust(least=True)`: the least information over F",
    "conditional": "`optimal_conditional`: private for insiders",
    "association": "`optimal_association`, `optimal_repeated`: private for acquaintances",
    "any cone": "`optimal_mechanism`: private by any cone",
    "estimates": "`optimal_estimation`: the least error, by any cone",
    "any robust": "`optimal_polyopt`, `optimal_robust`",
}


def table() -> str:
    """Return all entries as a Markdown table, with links from the page of this folder."""
    head = "| function, and its mechanisms | calls | engine |"
    rows = [f"| {_CALLED_BY[r.cone]} | {r.size} | [{r.engine}]({_link(r.module)}) |" for r in REGIMES]
    return "\n".join([head, "|---|---|---|", *rows])


def _link(module: str) -> str:
    own = "engines/"
    return f"{module.removeprefix(own)}.py" if module.startswith(own) else f"../{module}.py"
