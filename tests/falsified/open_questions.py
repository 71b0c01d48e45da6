"""Tables for the claims about what the papers left open."""

import pandas as pd

from falsified import Case, changed
from open_questions.summaries import APPROXIMATE


def cases() -> dict[str, Case]:
    rows = pd.DataFrame({"value": [1.0, 1.0], "mixture": [1.0, 1.0 - 0.0123]})
    approximate = rows.reindex(columns=[*APPROXIMATE.columns])
    more, less = (changed(approximate, loss, "mixture", mixture=1.0 - 0.0123) for loss in (0.98, 0.9884))
    return {
        "F-19": Case(
            said={"approximate": approximate},
            instead={"more": {"approximate": more}, "less": {"approximate": less}},
        )
    }
