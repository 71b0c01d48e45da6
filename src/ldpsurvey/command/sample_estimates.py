"""Estimates of weighted samples and of groups, as `estimate` prints them for every kind of channel."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Sequence

import numpy as np

from ldpsurvey.base.layout import remark
from ldpsurvey.command.estimate_texts import give_estimates
from ldpsurvey.data.reading import Label
from ldpsurvey.estimate.estimates import Estimated
from ldpsurvey.estimate.weighted import Sample, SampleColumns, weighted_text


def refuse_misfit(options: argparse.Namespace, doubt: str) -> None:
    """Refuse reports that do not fit, or remark upon them if that is asked; nothing is said of others."""
    if doubt and not options.despite_misfit:
        raise ValueError(f"{doubt} (--id). --despite-misfit estimates all the same.")
    if doubt:
        remark(f"{doubt}.")


def check_sample_options(options: argparse.Namespace) -> None:
    """Refuse options that do not go with those of samples."""
    only_estimates = () if options.deviating is not None else ("compare_with", "picture")
    for name in (*only_estimates, "mean", "cumulative", "second"):
        if getattr(options, name) is not None:
            option = {"picture": "plot"}.get(name, name.replace("_", "-"))
            raise ValueError(f"--{option} does not go with --weight, --strata, --cluster and --by.")
    if options.simultaneous:
        raise ValueError(
            "--simultaneous does not go with --weight, --strata, --cluster and --by: intervals are for each"
            " number."
        )


def sample_columns(options: argparse.Namespace) -> SampleColumns:
    """Return the columns of a sample."""
    return SampleColumns(
        options.column, options.id, options.weight, options.strata, options.cluster, options.by,
        options.replicates or (), options.replicate_method or "",
    )  # fmt: skip


def give_sample(
    options: argparse.Namespace,
    sample: Sample,
    estimates: Callable[[np.ndarray | None], Sequence[Estimated]],
    promise: str,
    *,
    joint: Collection[Label] | None = None,
) -> int:
    """Write and print the estimates of all people and, with ``--by``, of each group, (n,), in the sample.

    Of shares of several columns together all are printed, or those that are `joint`, and all are written.
    """
    groups = list(sample.all_and_groups(options.by))
    for name, who in groups:
        if who is not None and (lacking := sample.replicates_without(who)):
            remark(
                f"{options.by} = {name} has no weight in {lacking} of the replicates, so that no interval of"
                " its shares can be estimated from them."
            )
    found = [(name, estimates(who)) for name, who in groups]
    texts = []
    for name, some in found:
        title = f"{options.by} = {name}" if name else ""
        shown = [
            row for row in some
            if joint is None or row.given or len(names := row.quantity.attributes) == 1 or names in joint
        ]  # fmt: skip
        texts.append(weighted_text(shown, sample, options.confidence, title))
    rows = [(name, row) for name, some in found for row in some]
    about = {"groups": [{"group": name, "estimates": some} for name, some in found]}
    return give_estimates(options, rows, "\n\n".join(texts), promise, None, about)
