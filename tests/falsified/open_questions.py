"""Tables for the claims about what the papers left open."""

import pandas as pd

from falsified import Case, changed
from open_questions.summaries import APPROXIMATE


def cases() -> dict[str, Case]:
    rows = pd.DataFrame({"value": [1.0, 1.0], "mixture": [1.0, 1.0 - 0.0123]})
    random = rows.reindex(columns=[*APPROXIMATE.columns])
    search = changed(random, 0.98, "mixture", mixture=1.0 - 0.0123)
    less = changed(random, 0.9884, "mixture", mixture=1.0 - 0.0123)
    more = changed(search, 0.975, "mixture", mixture=0.98)
    said = {"approximate": random, "approximate_search": search}
    return {
        "F-19": Case(
            said,
            {
                "more at random": said | {"approximate": search},
                "less at random": said | {"approximate": less},
                "more by a search": said | {"approximate_search": more},
            },
        )
    }
