"""How fast this machine is, compared with the one that the run times of the project were measured on.

Both run the same loop of Python, whose processor time is `loop` in ``resources/durations.csv``. Most of the
time of a job is Python, or compiled code that is as much slower on a slower processor.

Needs the standard library alone.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: Rounds of the loop, some 10 ms of processor time, and how often it is run: the shortest time counts.
_ROUNDS, _TIMES = 300_000, 5


@dataclass(frozen=True)
class Scale:
    """Where times were measured, and what they are multiplied by here.

    Attributes
    ----------
    processor : str
        That of the other machine.
    factor : float
        This machine takes so many times as long.
    """

    processor: str
    factor: float

    def source(self, seconds: float) -> str:
        """Return how a time came about that the other machine needs so many seconds of processor time for."""
        return (
            f"scaled from {seconds:.0f} s of processor time measured on {self.processor} by the speed of this"
            f" machine, which takes {self.factor:.2f} times as long"
        )


def loop_seconds(clock: Callable[[], float] = time.process_time) -> float:
    """Return the processor time of the loop on this machine, s."""
    taken = []
    for _ in range(_TIMES):
        begun, number = clock(), 0
        for i in range(_ROUNDS):
            number = (number + i * i) % 1_000_003
        taken.append(clock() - begun)
    return min(taken)


def scale_of(command: str, durations: Path, seconds: float) -> Scale:
    """Return the scale of the run times that the project ships for a command.

    Parameters
    ----------
    command : str
        As ``durations.csv`` has it; one that it does not have was measured with ``default``.
    durations : Path
    seconds : float
        The time of the loop on this machine.
    """
    with durations.open(encoding="utf-8", newline="") as stream:
        measured = {row["command"]: row for row in csv.DictReader(stream) if row["loop"]}
    row = measured.get(command, measured["default"])
    return Scale(row["processor"], seconds / float(row["loop"]))
