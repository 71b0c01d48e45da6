"""Tables about what lies past PolyOpt: bounds, equal realized privacy, drift and sets for few records.

NMI is I(X; Y) / H(X) under the estimate P-hat.
"""

from __future__ import annotations

import pandas as pd

from beyond.catalogue import CALIBRATED as CALIBRATED_ROWS
from beyond.catalogue import NOMINAL
from papers.lopuhaa2024.catalogue import PLACE
from papers.lopuhaa2024.summaries import ORDERINGS as ORDERINGS
from papers.lopuhaa2024.summaries import orderings as orderings
from reproduction.results.tables import SKIPPED, Schema, select

_SETTING = {**PLACE, "epsilon": "float64"}
_KEY = [*_SETTING]

BOUNDS = Schema(
    name="bounds",
    columns={
        **_SETTING,
        "bound": "float64",  # NMI that no robust mechanism passes at this level or a lower one
        "nr": "float64",  # that of NR
    },
    key=tuple(_KEY),
)

CALIBRATED = Schema(
    name="equal realized privacy",
    columns={
        **_SETTING,
        "mechanism": "str",
        "nmi": "float64",  # as it is
        "realized": "float64",  # what it leaks over F then, nats
        "level": "float64",  # that it may be asked for, nats; missing of the optimum, as what follows
        "nmi_calibrated": "float64",
        "realized_calibrated": "float64",
        "exact": "float64",  # NMI of the optimum over F
        "bound": "float64",  # NMI that no robust mechanism passes
    },
    key=(*_KEY, "mechanism"),
)


DRIFT = Schema(
    name="drift",
    columns={
        **_SETTING,
        "mechanism": "str",
        "factor": "float64",  # of the radius of F
        "drift": "str",  # what of the distribution moves
        "records": "float64",  # of which the truths have the spread
        "nmi": "float64",  # under P-hat
        "survived": "float64",  # share of the truths at which the level is at most epsilon
        "standard_error": "float64",  # of that share, as the truths are drawn
        "median": "float64",  # of the level over the truths, nats
    },
    key=(*_KEY, "mechanism", "factor", "drift", "records"),
    finite=("nmi", "survived", "standard_error"),
)

FEW_RECORDS = Schema(
    name="few records",
    columns={
        **_SETTING,
        "mechanism": "str",
        "method": "str",  # as in `COVERAGE`
        "radius": "float64",  # of F, nats
        "nmi": "float64",  # under P-hat
    },
    key=(*_KEY, "mechanism", "method"),
)


def calibrated(calibration: pd.DataFrame) -> pd.DataFrame:
    """Compare mechanisms as they are with themselves at equal realized privacy, and with the optimum."""
    key = [*_KEY, "mechanism"]
    rows = calibration[calibration["status"] != SKIPPED]

    def column(experiment: str, metric: str, of: str = "value") -> pd.Series[float]:
        return select(rows, experiment=experiment, metric=metric).set_index(key)[of]

    frame = pd.DataFrame(
        {
            "nmi": column(NOMINAL, "nmi"),
            "realized": column(NOMINAL, "worst_case_epsilon"),
            "level": column(CALIBRATED_ROWS, "nominal_epsilon"),
            "nmi_calibrated": column(CALIBRATED_ROWS, "nmi"),
            "realized_calibrated": column(CALIBRATED_ROWS, "worst_case_epsilon"),
        }
    ).reset_index()
    # Asked for the level itself, a robust mechanism keeps it, even if rounding puts its level just above.
    as_it_is = frame["nmi"] > frame["nmi_calibrated"]
    found = ["level", "nmi_calibrated", "realized_calibrated"]
    frame.loc[as_it_is, found] = frame.loc[as_it_is, ["epsilon", "nmi", "realized"]].to_numpy()
    best = select(rows, experiment=NOMINAL, metric="nmi", mechanism="exact").set_index(_KEY)
    best = best[["value", "bound"]].set_axis(["exact", "bound"], axis=1)
    return CALIBRATED.conform(frame.join(best, on=_KEY))
