"""Own data moved to `ldpsurvey`; its public names can be imported from here for one more version."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import ldpsurvey

    if name not in ("__all__", *ldpsurvey.__all__):
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; what is for own data is in `ldpsurvey` now."
        )
    return getattr(ldpsurvey, name)
