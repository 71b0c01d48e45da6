"""Two waves of a weighted, stratified or clustered sample, of which people or clusters may be in both.

The share of a wave is that of `weighted`, and so is what a person or cluster adds to its error: e, around the
mean of its stratum in the wave, times the root of n_h / (n_h - 1). The variance of a change is the sum, over
all that was drawn, of the squares of the difference of these; what is in one wave alone adds nothing to the
other. If all are in both waves, it is that of the paired differences, and if nobody is, the sum of those of
two independent samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.channel.reports import Decoder
from ldpsurvey.data.reading import Records
from ldpsurvey.estimate.additions import Addition
from ldpsurvey.estimate.weighted import KnownLabels, Sample, SampleColumns, check_sizes, read_sample

_WAVES = ("first", "second")


class TwoSamples:
    """The weights of the people of two waves, and what was drawn: clusters, or people by their ids.

    The strata and clusters of both samples are numbered as in `known`.
    """

    def __init__(self, samples: Sequence[Sample], known: KnownLabels) -> None:
        self.weights = [sample.weights for sample in samples]
        _check_people(samples, known)
        if samples[0].clusters is None:
            places = dict[str, int]()
            each = [[places.setdefault(name, len(places)) for name in sample.people] for sample in samples]
            keys = [np.array(some, dtype=np.int64) for some in each]
        else:
            _check_clusters(samples, known)
            width = len(known.clusters)
            keys = [sample.strata * width + sample.clusters for sample in samples]  # type: ignore[operator]
        _, first, joined = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
        self._strata = np.concatenate([sample.strata for sample in samples])[first]
        self._units = np.split(joined.reshape(-1), [len(keys[0])])
        self._factors, freedoms = list[FloatArray](), list[int]()
        for units, wave in zip(self._units, _WAVES, strict=True):
            own = np.unique(units)
            sizes = np.bincount(self._strata[own], minlength=int(self._strata.max()) + 1)
            check_sizes(sizes, samples[0], f" in the {wave} wave")
            # 0 for what is not in the wave.
            factors = np.zeros(len(self._strata))
            inside = sizes[self._strata[own]]
            factors[own] = np.sqrt(inside / (inside - 1.0))
            self._factors.append(factors)
            freedoms.append(len(own) - int((sizes > 0).sum()))
        self.freedom = min(freedoms)

    def change(
        self, waves: Sequence[Addition], outputs: Sequence[IntArray]
    ) -> tuple[float, float, float, float]:
        """Return a share in either wave, the error of their difference, and that which its interval has.

        The latter counts one more report of a typical weight at either end of each wave, as in one wave.
        """
        means, difference, more = list[float](), np.zeros(len(self._strata)), 0.0
        for place, (one, some, w) in enumerate(zip(waves, outputs, self.weights, strict=True)):
            added, total = one.of_reports(1 + int(some.max()))[some], w.sum()
            mean = float(w @ added / total)
            e = np.bincount(self._units[place], w * (added - mean) / total, minlength=len(self._strata))
            factors = self._factors[place]
            inside = np.bincount(self._strata, factors > 0.0)
            centres = np.bincount(self._strata, e) / np.maximum(inside, 1.0)
            difference += (2 * place - 1) * factors * (e - centres[self._strata])
            ends = np.array([one.over.min(), one.over.max()]) - mean
            more += float(((w**2).sum() / total**2 * ends) @ ((w**2).sum() / total**2 * ends))
            means.append(mean if one.shown else math.nan)
        squares = float(difference @ difference)
        return means[0], means[1], math.sqrt(squares), math.sqrt(squares + more)


def _check_people(samples: Sequence[Sample], known: KnownLabels) -> None:
    """Refuse people who are in both waves, and in different strata or clusters."""
    first, second = samples
    places = {name: place for place, name in enumerate(first.people)}
    both = [(places[name], place) for place, name in enumerate(second.people) if name in places]
    kinds: list[tuple[str, dict[str, int], IntArray | None, IntArray | None]] = [
        ("stratum", known.strata, first.strata, second.strata),
        ("cluster", known.clusters, first.clusters, second.clusters),
    ]
    for what, labels, one, other in kinds:
        if one is None or other is None:
            continue
        names = list(labels)
        for start, end in both:
            if one[start] != other[end]:
                raise ValueError(
                    f"{first.people[start]!r} is in the {what} {names[one[start]]!r} in the first wave and in"
                    f" {names[other[end]]!r} in the second one. Give each person the {what} that the person"
                    " was drawn from, in both files."
                )


def _check_clusters(samples: Sequence[Sample], known: KnownLabels) -> None:
    """Refuse clusters that are in different strata, if no wave has a cluster in two of them."""
    homes = list[dict[int, int]]()
    for sample in samples:
        assert sample.clusters is not None
        pairs = np.unique(np.column_stack([sample.clusters, sample.strata]), axis=0)
        if len(np.unique(pairs[:, 0])) < len(pairs):
            return  # numbered anew in each stratum
        homes.append(dict(pairs.tolist()))
    names, strata = list(known.clusters), list(known.strata)
    for cluster in homes[0].keys() & homes[1].keys():
        one, other = (home[cluster] for home in homes)
        if one != other:
            raise ValueError(
                f"The cluster {names[cluster]!r} is in the stratum {strata[one]!r} in the first wave and in"
                f" {strata[other]!r} in the second one. Give it the stratum that it was drawn from, in both"
                " files."
            )


def read_two_samples(
    decoders: Sequence[tuple[str, Decoder]],
    paths: Sequence[Records],
    columns: SampleColumns,
    on_weights: Callable[[str], object] | None = None,
) -> tuple[TwoSamples, list[dict[str, int]]]:
    """Read two waves, and return their samples and the numbers of the reports by the ids of people."""
    known = KnownLabels()
    samples = [
        read_sample(channel, decode, path, columns, known, on_weights)
        for (channel, decode), path in zip(decoders, paths, strict=True)
    ]
    waves = [dict(zip(one.people, one.outputs.tolist(), strict=True)) for one in samples]
    return TwoSamples(samples, known), waves
