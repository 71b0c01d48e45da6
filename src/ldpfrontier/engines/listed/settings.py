"""Limits, accuracy and tuning of the optima over columns that are all listed, and of packings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ListedSettings:
    """Numbers that the methods of this folder are run with; k is the number of inputs."""

    # Stated limits. Those of sizes are in `engines.registry`.
    #: Delta of approximate privacy above 0: below, the tolerance of linear programs would cost utility.
    smallest_delta: float = 1e-9
    #: Inputs of the mixture of the truth and an eps-LDP mechanism: 32 MB for the truth.
    max_mixture_inputs: int = 2_000
    #: Level in nats of approximate privacy above 0: entries of columns are as small as e^-180.
    max_approximate_epsilon: float = 30.0
    #: Inputs of an f-divergence: all k^2 blocks are tried, in as much memory.
    max_divergence_inputs: int = 4_000
    #: Inputs of mutual information: each looks at all bins, of which there may be as many.
    max_information_inputs: int = 50_000
    #: Entries of a channel: 80 MB.
    max_channel_entries: int = 10_000_000
    #: Level in nats below which columns are too near to each other for a linear program.
    least_generation_epsilon: float = 1e-4
    #: Rounds of column generation, a limit against a search without an end: what is found then has its bound.
    max_rounds: int = 1_000
    #: Relative gap to which a utility is maximized by default.
    tolerance: float = 1e-4

    # Tuning. It changes gaps and times alone, never what is true of a bound.
    #: Sets kept in all steps of a branch and bound together, by effort. Half the widths leave a gap of 2e-9
    #: in place of 1e-9 on random priors of 30 and 80 inputs.
    pricing_widths: tuple[int, int] = (20_000, 320_000)


SETTINGS = ListedSettings()
