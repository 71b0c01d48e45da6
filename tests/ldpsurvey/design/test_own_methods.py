"""Mechanisms and cones of one's own in a design: candidates that are computed and checked, never trusted."""

import math
import re
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from ldpfrontier import Channel, PolyhedralCone, ldp_epsilon, secret_randomized_response
from ldpfrontier.model.cones import BaseCone
from ldpsurvey import design_channel, read_channel
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.attackers import ATTACKERS
from ldpsurvey.command import cli
from ldpsurvey.data.value_lists import table_of_values
from ldpsurvey.design.own_methods import Refused, loaded, refusal
from support.owndata import flat, small_table

SOURCE = """
import numpy as np
from ldpfrontier import Intractable, local_cone

number = 5


def mechanism(ball, epsilon):
    sensitive, useful = ball.centre.shape
    truth = np.exp(epsilon) / (np.exp(epsilon) + sensitive - 1)
    response = np.full((sensitive, sensitive), (1 - truth) / (sensitive - 1))
    np.fill_diagonal(response, truth)
    return np.repeat(response, useful, axis=0)


def whole(ball, epsilon):
    from ldpfrontier import randomized_response

    return randomized_response(ball.centre.size, epsilon)


def leaky(ball, epsilon):
    return mechanism(ball, 1.1 * epsilon)


def telling(ball, epsilon):
    return np.eye(ball.centre.size)


def short(ball, epsilon):
    return np.ones((2, 1))


def uneven(ball, epsilon):
    return np.full((6, 2), 0.6)


def text(ball, epsilon):
    return "a channel"


def failing(ball, epsilon):
    return 1 / 0


def too_large(ball, epsilon):
    raise Intractable("Too many values.")


def whole_record(ball, epsilon):
    return local_cone(ball.centre.size, epsilon)


def half_record(ball, epsilon):
    return local_cone(ball.centre.size, 0.5 * epsilon)


def small_cone(ball, epsilon):
    return local_cone(3, epsilon)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return the name of a module with functions of a user, in the current folder."""
    name = f"own_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "t.csv").write_text(
        "s,u,count\na,x,260\na,y,310\na,z,570\nb,x,70\nb,y,30\nb,z,100\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield name
    sys.modules.pop(name, None)


DESIGN = "design --table t.csv --sensitive s --useful u --epsilon 1 --records 3000 --against acquaintance"


def written(module, *options):
    """Return the channel that the command writes, which must be the same that reports are drawn with."""
    assert cli.main([*DESIGN.split(), *options, "--force"]) == 0
    return read_channel("channel.json").verified()


def test_a_mechanism_of_ones_own_is_written_or_refused(module, capsys):
    """Even if another one has less error, as the one of the least error has."""
    private = written(module, "--mechanism", f"{module}:whole")
    truth = np.exp(1.0) / (np.exp(1.0) + 5.0)
    assert np.sort(private.channel.matrix, axis=1)[:, -1] == pytest.approx(np.full(6, truth))
    assert private.certificate.mechanism == f"{module}:whole"
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    # Cells cannot be estimated from reports that tell s alone.
    assert cli.main([*DESIGN.split(), "--mechanism", f"{module}:mechanism", "--force"]) == 2
    said = capsys.readouterr().err
    assert f"{module}:mechanism: it has rank 2 for 6 values, and its reports do not show" in said
    takes = re.findall(r"mechanism: .*?; (--.*?) takes it", said)[0].split(" or ")
    assert takes == ["--precise S", "--for information"]
    for words in takes:
        written(module, "--mechanism", f"{module}:mechanism", *words.split())
    written(module, "--mechanism", f"{module}:whole")
    capsys.readouterr()
    without = DESIGN.replace("--epsilon 1", "--error 0.1 --force").split()
    assert cli.main([*without, "--mechanism", f"{module}:whole"]) == 2
    assert "With a mechanism or a cone of your own, --epsilon is needed" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before


def test_what_is_written_is_in_the_cone_of_ones_own(module):
    """The level of the whole record is that of the cone, and not that of the promise, which is 21."""
    for options in ([], ["--mechanism", f"{module}:whole_record"], ["--for", "information"], ["--compare"]):
        private = written(module, "--cone", f"{module}:whole_record", *options)
        assert ldp_epsilon(private.channel) <= 1.0 + 1e-9, options
    both = written(module, "--cone", f"{module}:whole_record", f"{module}:half_record")
    assert ldp_epsilon(both.channel) <= 0.5 + 1e-9
    cone = {"half": loaded(f"{module}:half_record")}
    own = {"mine": loaded(f"{module}:whole")}
    with pytest.raises(Refused, match="mine is outside of the cone half; a mechanism of your own must be in"):
        design_channel(small_table(), 1.0, against="acquaintance", own=own, cones=cone, mechanisms=["grr"])


def test_another_channel_is_not_replaced_unless_it_is_forced(module, capsys, monkeypatch):
    command = [*DESIGN.split(), "--mechanism", "srr", "--precise", "S"]
    assert cli.main(command) == 0
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    for options in ([], ["--records", "5", "--epsilon", "2"], ["--out", "other.json"]):
        Path("other.weights.csv").write_text("mine")
        with monkeypatch.context() as without:
            without.setattr("ldpsurvey.command.design_command.design_channel", None)  # before any work
            assert cli.main([*command, *options]) == 2
        name = "other.weights" if "--out" in options else "channel"
        assert re.search(rf"{name}\S+ is there already. Reports that", capsys.readouterr().err)
    assert {path: path.read_bytes() for path in before} == before
    assert cli.main([*command, "--epsilon", "2", "--force"]) == 0
    assert Path("channel.json").read_bytes() != before[Path("channel.json")]


def test_a_mechanism_without_useful_columns_gets_the_prior():
    seen = []

    def response(utility, epsilon):
        seen.append(utility.prior)
        k = len(utility.prior)
        return (np.ones((k, k)) + np.expm1(epsilon) * np.eye(k)) / (k + np.expm1(epsilon))

    table = flat(small_table())
    made = design_channel(table, 1.0, mechanisms=["grr"], own={"mine": response})
    assert made.candidates[1].errors == pytest.approx(made.candidates[0].errors)
    assert seen[0] == pytest.approx(table.distribution.ravel())
    # Nor is there a set F if no records were counted: the function gets the uniform distribution.
    centres = []

    def srr(ball, epsilon):
        centres.append(ball.centre)
        return np.repeat([[0.6, 0.4], [0.4, 0.6]], ball.centre.shape[1], axis=0)

    values = table_of_values({"s": ("a", "b"), "u": ("x", "y", "z")}, ["s"], ["u"])
    design_channel(values, 1.0, mechanisms=["srr"], own={"mine": srr}, records=100)
    assert centres[0] == pytest.approx(np.full((2, 3), 1 / 6))


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        ("leaky", "{}:leaky has the level 1.1 against acquaintance; allowed is at most epsilon, 1."),
        ("telling", "{}:telling has no level against acquaintance; allowed is at most epsilon, 1."),
        ("short", "{}:short returned a matrix with 2 rows; it must have a row for each of the 6 values of a"),
        ("uneven", "{}:uneven returned no channel: "),
        ("text", "{}:text returned no channel: "),
        ("failing", "{}:failing failed, given a RenyiBall and the level: ZeroDivisionError: division by"),
        ("nothing", "{} has no function nothing."),
        ("number", "{} has no function number."),
        ("a-b", "does not name a function; it must be written as my_module:function."),
    ],
)
def test_a_wrong_mechanism_is_refused(module, tmp_path, capsys, function, sentence):
    assert cli.main([*DESIGN.split(), "--mechanism", f"{module}:{function}"]) == 2
    err = capsys.readouterr().err
    assert sentence.format(module) in err
    assert sorted(path.name for path in tmp_path.glob("*.*")) == [f"{module}.py", "t.csv"]


def test_a_mechanism_of_ones_own_is_taken_up_to_the_level():
    """One millionth above it, it is refused where it is made; a millionth below it is a candidate."""
    table = small_table()
    for share in (1.0 - 1e-6, 1.0 + 1e-6):

        def response(ball, epsilon, share=share):
            return secret_randomized_response(*ball.centre.shape, share * epsilon)

        refused = pytest.raises(Refused, match=r"mine has the level 1\.000001 against anyone; allowed is at")
        with nullcontext() if share < 1.0 else refused:
            made = design_channel(table, 1.0, against="anyone", mechanisms=["srr"], own={"mine": response})
            assert "mine" in [found.name for found in made.candidates]


def test_what_is_outside_of_a_cone_of_ones_own_is_not_chosen():
    """Up to rounding, of another mechanism or of one's own."""
    cones = {"mine": PolyhedralCone([[1.0, -1.0]])}
    for share in (0.99, 1.01):
        column = np.array([0.5 * (1.0 + 2.0 * share * SETTINGS.rounding), 0.5])
        channel = Channel(np.stack([column, 1.0 - column], axis=1))
        assert refusal("srr", channel, None, cones) == ("" if share < 1 else "it is outside of the cone mine")
        with nullcontext() if share < 1 else pytest.raises(Refused, match="own is outside of the cone mine"):
            assert refusal("own", channel, {"own": lambda ball, epsilon: None}, cones) == ""


def test_a_module_that_is_not_there_or_fails_is_named(module, tmp_path, capsys):
    assert cli.main([*DESIGN.split(), "--mechanism", "nowhere_at_all:mechanism"]) == 2
    assert "nowhere_at_all cannot be imported: ModuleNotFoundError: No module" in capsys.readouterr().err
    (tmp_path / "broken_by_name.py").write_text("import nowhere_at_all\n", encoding="utf-8")
    assert cli.main([*DESIGN.split(), "--cone", "broken_by_name:cone"]) == 2
    assert "broken_by_name cannot be imported: ModuleNotFoundError: No module" in capsys.readouterr().err


@pytest.mark.parametrize("against", ATTACKERS)
def test_a_cone_of_ones_own_is_kept_beside_the_promise(module, against):
    """With the cone of local differential privacy at 0.8, the whole record has that level."""
    from ldpfrontier import local_cone

    table = small_table()
    cones = {"mine": lambda ball, epsilon: local_cone(ball.centre.size, 0.8 * epsilon)}
    made = design_channel(table, 1.0, against=against, mechanisms=["ldp"], cones=cones, records=1000)
    ldp, informative, precise = made.candidates
    assert (informative.name, precise.name) == ("mine (information)", "mine (frequencies)")
    for found in (informative, precise):
        assert ldp_epsilon(found.channel) <= 0.8 + 1e-9
        assert found.private
    weaker = design_channel(table, 0.8, against=against, mechanisms=["ldp"], records=1000).candidates[0]
    assert informative.nmi == pytest.approx(weaker.nmi, rel=2e-3)
    assert precise.error < informative.error or math.isnan(informative.error)
    assert ldp.nmi > informative.nmi


def test_a_wrong_cone_is_refused(module, capsys):
    for function, sentence in (
        ("small_cone", f"{module}:small_cone returned a cone of 3 inputs; it must have as many as there are"),
        ("text", f"{module}:text returned a str; it must return a PolyhedralCone or a Cone."),
        ("failing", f"{module}:failing failed, given a RenyiBall and the level: ZeroDivisionError"),
    ):
        assert cli.main([*DESIGN.split(), "--cone", f"{module}:{function}"]) == 2
        assert sentence in capsys.readouterr().err

    class Lying(BaseCone):
        """A cone with a cut, v_0 <= 1.1 v_1, that it tells only those who ask for the most violated one."""

        shape, inequalities, least_constant_slack = (2, 3), np.zeros((0, 6)), 0.1

        def separate(self, columns, *, exact=False):
            return np.tile([1.0, -1.1, 0.0, 0.0, 0.0, 0.0], (len(columns), int(exact), 1))

        def pull(self, columns):
            return columns, np.zeros((0, 6))

    lying = {"lying": lambda ball, epsilon: Lying()}
    with pytest.raises(Refused, match=r"the cone lying: A column .* violates a cut of the cone by 0\.\d+ of"):
        design_channel(small_table(), 1.0, against="anyone", mechanisms=["ldp"], cones=lying)


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(ValueError, match="srr is the name of another mechanism"):
        design_channel(small_table(), 1.0, mechanisms=["srr"], own={"srr": lambda ball, epsilon: None})
