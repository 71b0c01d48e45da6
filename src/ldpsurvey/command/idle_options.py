"""Options that do nothing without others, or with others, and are refused."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from ldpsurvey.command.option_table import options_of

#: Options of a command, by what `argparse` calls them, that do nothing without one of others.
NEEDS: Mapping[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "design": [
        (("people", "design_effect"), ("weight",)),
        (("reports", "budget", "unasked", "detect"), ("epsilon",)),
        (("unasked",), ("useful",)),
        (("missing", "count", "weight", "cluster"), ("data", "table")),
        (("decimal",), ("bins", "weight")),
        (("beta", "alpha", "radius_factor", "confidence_method"), ("useful",)),
        (("beta", "alpha", "radius_factor", "confidence_method"), ("data", "table")),
    ],
    "apply": [(("wave",), ("memo",))],
    "estimate": [
        (("always",), ("second", "deviating")),
        (("refusals",), ("deviating",)),
        (("second",), ("always",)),
        (("spreadsheet",), ("out",)),
        (("replicate_method",), ("replicates",)),
    ],
    "change": [(("spreadsheet",), ("out",))],
    "audit": [
        (("column", "missing", "missing_codes", "decimal"), ("data",)),
        (("confidence",), ("samples", "data")),
    ],
    "collect": [(("store", "page"), ("listen",)), (("spreadsheet", "force"), ("out",))],
    "people": [
        (("probability",), ("width",)),
        (("value",), ("power",)),
        (("confidence",), ("width", "power")),
    ],
}

#: Options that do nothing with one of others.
IDLE_WITH: Mapping[str, list[tuple[str, tuple[str, ...]]]] = {
    "design": [("details", ("json", "quiet"))],
    "form": [("wave", ("kiosk",))],
    "collect": [("column", ("codes", "listen"))],
}


def without_effect(options: argparse.Namespace) -> str:
    """Return a sentence on an option that was given and does nothing; nothing if there is none."""
    command = options.command
    default = {
        more.get("dest") or names[0].lstrip("-").replace("-", "_"): more.get("default")
        for names, more in options_of(command)
    }

    def is_given(name: str) -> bool:
        return getattr(options, name) not in (default[name], None, False)

    def written(names: tuple[str, ...]) -> str:
        return " or ".join(f"--{name.replace('_', '-')}" for name in names)

    for idle, others in NEEDS.get(command, []):
        if not any(map(is_given, others)) and (found := [name for name in idle if is_given(name)]):
            return f"{written((found[0],))} has no effect without {written(others)}"
    for name, others in IDLE_WITH.get(command, []):
        if is_given(name) and (found := [other for other in others if is_given(other)]):
            return f"{written((name,))} has no effect with {written((found[0],))}"
    return ""
