"""The channels of the user's own mechanisms: what is none, or not private, is refused with a sentence."""

import numpy as np
import pytest

from ldpfrontier.base.types import Intractable
from ldpfrontier.model.channel import Channel
from reproduction.own_channels import OwnMechanismError, channel_of, require_private
from reproduction.planning.own_mechanisms import OwnMechanism

MODULE = """
import numpy as np
from ldpfrontier.model.channel import Channel
from ldpfrontier.base.types import Intractable
from beside import two

def good(problem, epsilon):
    return [[0.5, 0.5]] * two(problem)

def channel(problem, epsilon):
    return Channel(good(problem, epsilon))

def ragged(problem, epsilon):
    return np.eye(3)

def unsummed(problem, epsilon):
    return [[0.5, 0.4]] * 2

def nothing(problem, epsilon):
    return None

def broken(problem, epsilon):
    return 1 / 0

def far(problem, epsilon):
    raise Intractable("It is too large.")
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / "own_module.py").write_text(MODULE)
    (tmp_path / "beside.py").write_text("def two(problem):\n    return problem\n")
    file = str(tmp_path / "own_module.py")
    return lambda name: OwnMechanism("mine", f"own_module:{name}", "Mine", "#000000", "o", file)


def test_matrices_and_channels_are_taken(own):
    assert isinstance(channel_of(own("good"), 2, 1.0, 2), Channel)
    assert np.array_equal(channel_of(own("channel"), 2, 1.0, 2).matrix, np.full((2, 2), 0.5))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("ragged", "returns a matrix with 3 rows; allowed is a row for each of the 2 inputs."),
        ("unsummed", "returns no channel. Row 0 of the channel matrix sums to 0.9; every row must sum to 1"),
        ("nothing", "returns no channel. The channel matrix "),
        ("broken", "fails with ZeroDivisionError: division by zero"),
    ],
)
def test_what_is_no_channel_is_refused(own, name, sentence):
    with pytest.raises(OwnMechanismError) as refused:
        channel_of(own(name), 2, 0.5, 2)
    assert str(refused.value).startswith(f"own_module:{name} (the mechanism mine, at epsilon 0.5) {sentence}")


def test_what_is_out_of_reach_may_say_so(own):
    with pytest.raises(Intractable, match="too large"):
        channel_of(own("far"), 2, 0.5, 2)


def test_what_is_not_private_is_refused(own):
    require_private(own("good"), 1.0, 1.0, "over F")
    for level in (1.5, float("inf"), float("nan")):
        with pytest.raises(OwnMechanismError) as refused:
            require_private(own("good"), level, 1.0, "over F")
        assert str(refused.value) == (
            f"own_module:good (the mechanism mine) has the privacy level {level:.6g} over F; allowed is"
            " at most epsilon, 1."
        )
