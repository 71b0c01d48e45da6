"""Tables for the claims about what the papers left open."""

from collections.abc import Mapping

import pandas as pd

from falsified import Case, changed
from open_questions.summaries import APPROXIMATE


def table(*rows: tuple[float, ...], columns: str, **common: object) -> pd.DataFrame:
    """Build a table of some columns."""
    return pd.DataFrame(list(rows), columns=columns.split()).assign(**common)


def alone(name: str, said: pd.DataFrame, column: str, **instead: tuple[float, Mapping[str, object]]) -> Case:
    """Return the case of a claim about one table, with what other numbers of a column it must reject."""
    others = {
        words: {name: changed(said, value, column, **where)} for words, (value, where) in instead.items()
    }
    return Case({name: said}, others)


def cases() -> dict[str, Case]:
    rows = pd.DataFrame({"value": [1.0, 1.0], "mixture": [1.0, 1.0 - 0.0123]})
    random = rows.reindex(columns=[*APPROXIMATE.columns])
    search = changed(random, 0.98, "mixture", mixture=1.0 - 0.0123)
    less = changed(random, 0.9884, "mixture", mixture=1.0 - 0.0123)
    more = changed(search, 0.975, "mixture", mixture=0.98)
    said = {"approximate": random, "approximate_search": search}
    low, high = {"epsilon": 0.5}, {"epsilon": 4.0}
    average = table((0.5, 0.43, 1.0), (4.0, 0.99, 1.0), columns="epsilon average value")
    independence = table((3, 0.6, 1.0), (4, 0.46, 1.0), (4, 1.0, 1.0), columns="letters alone value")
    pairs = ("sex, race", "income, relationship", "education, marital-status")
    reports = pd.DataFrame({"instance": pairs, "components": (1.48, 1.69, 2.35)}).assign(
        epsilon=0.3, response=1.0
    )
    metrics = pd.DataFrame(
        {"metric": ["local privacy", "mutual information"], "utility": [0.83, 0.39]}
    ).assign(best_information=1.0, best_local=1.0)
    support = pd.DataFrame({"source": ["any", "uniform"], "closed_form": [None, 0.213486]}).assign(
        epsilon=1.0, cells=40, lower=0.316146, upper=0.316299
    )
    unasked = table(*[(1.0, 0.95)] * 18, *[(0.1, 0.76)] * 18, columns="epsilon exact").assign(known=1.0)
    alike = {"letters": 4, "alone": 0.46}
    return {
        "F-20": alone(
            "hypotheses",
            average.assign(kind="kl", instance="random 1"),
            "average",
            more=(0.45, low),
            less=(0.41, low),
            less_at_high=(0.97, high),
        ),
        "F-21": alone(
            "distributed",
            independence.assign(kind="kl", instance="independence"),
            "alone",
            more=(0.48, alike),
            less=(0.44, alike),
        ),
        "F-22": alone(
            "components",
            reports,
            "components",
            more=(1.6, {"instance": pairs[0]}),
            less=(1.6, {"instance": pairs[1]}),
            less_at_last=(2.2, {"instance": pairs[2]}),
        ),
        "F-23": alone(
            "metrics",
            metrics,
            "utility",
            less=(0.8, {"metric": "local privacy"}),
            more=(0.45, {"metric": "mutual information"}),
        ),
        "F-24": Case(
            {"bounded_support": support},
            {
                "lower": {"bounded_support": changed(support, 0.316, "lower", source="any")},
                "upper": {"bounded_support": changed(support, 0.3165, "upper", source="any")},
                "uniform": {"bounded_support": changed(support, 0.2136, "closed_form", source="uniform")},
            },
        ),
        "F-25": alone(
            "least",
            table((100, 1.173), (10000, 1.009), columns="records value").assign(published=1.0),
            "value",
            more=(1.2, {"records": 100}),
            less=(1.15, {"records": 100}),
            more_of_many=(1.02, {"records": 10000}),
        ),
        "F-26": Case(
            {"unasked": unasked},
            {
                "fewer pairs": {"unasked": unasked.iloc[1:]},
                "less": {"unasked": changed(unasked, 0.7, "exact", epsilon=0.1)},
                "more": {"unasked": changed(unasked, 0.99, "exact", epsilon=1.0)},
            },
        ),
        "F-19": Case(
            said,
            {
                "more at random": said | {"approximate": search},
                "less at random": said | {"approximate": less},
                "more by a search": said | {"approximate_search": more},
            },
        ),
    }
