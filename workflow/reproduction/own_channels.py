"""The channels of the user's own mechanisms, refused with a sentence if they are not what was promised."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ldpfrontier.base.types import Intractable
from ldpfrontier.model.channel import Channel
from reproduction.planning.own_mechanisms import OwnMechanism
from reproduction.results.tables import PRIVACY_TOLERANCE


class OwnMechanismError(ValueError):
    """A mechanism of the user's own that is none, or not private; the message says what is allowed."""


def channel_of(own: OwnMechanism, problem: Any, epsilon: float, inputs: int) -> Channel:
    """Return the channel of a mechanism, whose function is called with a problem of its paper and the level.

    Functions that fail, or return no channel with so many inputs, are refused; one that raises `Intractable`
    is out of reach here, and is skipped.
    """
    where = f"{own.function} (the mechanism {own.name}, at epsilon {epsilon:g})"
    try:
        found = _function(own.file, own.function)(problem, epsilon)
    except Intractable:
        raise
    except Exception as error:
        raise OwnMechanismError(f"{where} fails with {type(error).__name__}: {error}") from error
    try:
        channel = found if isinstance(found, Channel) else Channel(found)
    except (TypeError, ValueError) as error:
        raise OwnMechanismError(f"{where} returns no channel. {error}") from None
    if channel.n_inputs != inputs:
        raise OwnMechanismError(
            f"{where} returns a matrix with {channel.n_inputs} rows; allowed is a row for each of the"
            f" {inputs} inputs."
        )
    return channel


def require_private(own: OwnMechanism, level: float, epsilon: float, over: str) -> None:
    """Refuse a mechanism whose level, in nats, is above the one asked for; `over` says for whom it counts."""
    if not level <= epsilon + PRIVACY_TOLERANCE:
        raise OwnMechanismError(
            f"{own.function} (the mechanism {own.name}) has the privacy level {level:.6g} {over}; allowed is"
            f" at most epsilon, {epsilon:g}."
        )


@cache
def _function(file: str, name: str) -> Callable[[Any, float], Any]:
    """Import a function from a file; what lies beside the file can be imported as well."""
    module, _, attribute = name.partition(":")
    folder = str(Path(file).resolve().parent)
    # At the end, so that no file there takes the place of a library.
    if folder not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(module, file)
    # The file was found when the run was planned.
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return getattr(loaded, attribute)  # type: ignore[no-any-return]
