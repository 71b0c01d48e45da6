"""How the curve of a mechanism looks; without matplotlib, for catalogues that plans read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Look:
    """Label, colour (Okabe and Ito, colour-blind safe), marker and dash of a mechanism."""

    label: str
    colour: str
    marker: str
    dash: Any
    filled: bool = True

    def line(self, **options: Any) -> dict[str, Any]:
        """Return the options of a matplotlib line."""
        return {
            "label": self.label,
            "color": self.colour,
            "marker": self.marker,
            "linestyle": self.dash,
            "markerfacecolor": self.colour if self.filled else "white",
            **options,
        }
