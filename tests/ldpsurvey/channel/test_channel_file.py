"""The file of a channel: what is stated is verified, and what was edited is refused."""

import math
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from ldpfrontier import (
    Channel,
    OddsRatios,
    conditional_epsilon,
    ldp_epsilon,
    secret_randomized_response,
    unconditional_epsilon,
)
from ldpsurvey import design_channel, read_channel
from ldpsurvey.base.sampling import sampled_channel, sampled_level
from ldpsurvey.channel.attackers import ATTACKERS, levels_of, population_of
from ldpsurvey.channel.channel_file import ChannelFileError, private_weights
from ldpsurvey.design.methods import ROBUST_METHODS
from support.grids import few
from support.owndata import channel_of, flat, rewritten


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def path(private, tmp_path):
    private.write(tmp_path / "channel.json")
    return tmp_path / "channel.json"


# What is stated -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", few([1.0], more=[0.3, 6.0]))
@pytest.mark.parametrize("mechanism", ["exact", "polyopt", "ir", "srr", "grr", "ldp"])
def test_what_is_sampled_keeps_the_level_that_was_asked_for(table, mechanism, epsilon):
    made = design_channel(table, epsilon, against="outsider", mechanisms=[mechanism])
    private = made.private(made.candidates[0])
    certificate = private.certificate
    assert certificate.level == certificate.levels.outsider <= epsilon
    assert certificate.levels == private.levels()
    # Another path: the levels of the same numbers as floats.
    sampled = sampled_channel(private.weights)
    assert certificate.level >= made.population.ball(table).worst_case_epsilon(sampled) - 1e-12
    others = [
        conditional_epsilon(sampled, (2, 3)),
        unconditional_epsilon(sampled, (2, 3)),
        ldp_epsilon(sampled),
    ]
    levels = certificate.levels
    assert [levels.insider, levels.anyone, levels.record] == pytest.approx(others, rel=1e-12, abs=1e-14)
    # Next to nothing is paid for it.
    assert certificate.nmi == pytest.approx(made.candidates[0].nmi, rel=1e-5)


@pytest.mark.parametrize("against", ["acquaintance", "anyone"])
@pytest.mark.parametrize("mechanism", ["association", "unconditional", "srr", "subset", "ldp"])
def test_whoever_it_protects_from_has_the_level(table, mechanism, against):
    if mechanism not in ROBUST_METHODS[against]:
        pytest.skip("not offered")
    private = channel_of(table, mechanism, 0.7, against)
    levels = private.certificate.levels
    assert against != "acquaintance" or levels.acquaintance <= 0.7
    assert against != "anyone" or levels.anyone <= 0.7
    assert private.certificate.level == levels.against(against)
    # The strongest promise that is kept is made, whatever was asked for.
    words = "whatever anyone knows or believes about the person"
    if mechanism == "association":
        words = "for anyone whose knowledge about the person concerns region, age alone (nothing, the"
    assert words in private.promise()


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 15.0])
@pytest.mark.parametrize("mechanism", ["ldp", "binary", "subset", "grr"])
def test_without_useful_columns_the_level_is_that_of_whole_numbers(table, mechanism, epsilon):
    private = channel_of(flat(table), mechanism, epsilon)
    assert private.certificate.level == private.certificate.levels.record == sampled_level(private.weights)
    assert epsilon * (1 - 1e-6) < private.certificate.level <= epsilon
    assert private.promise().endswith(", whatever anyone knows or believes about the person.")
    assert private.certificate.population is None


def test_a_channel_that_is_not_private_is_refused(table):
    identity = Channel(np.eye(6))
    with pytest.raises(ValueError, match=r"The level of the channel is inf|The level of the channel is \d"):
        private_weights(identity, flat(table), None, 1.0, "anyone")
    made = design_channel(table, 1.0, against="outsider", mechanisms=["nr"])
    with pytest.raises(ValueError, match=r"The level of the channel is \d.*; it must be at most 1"):
        made.private(made.candidates[0])


@pytest.mark.parametrize("against", ATTACKERS)
def test_what_is_above_the_level_by_rounding_is_moved_below_it(table, against):
    """And what is above it by a part in ten thousand is refused."""
    channel, population = secret_randomized_response(2, 3, 1.0), population_of(table)
    level = levels_of(channel.matrix, table, population).against(against)
    for above in (0.0, 1e-12, 1e-8, 1e-4):
        epsilon = level / (1.0 + above)
        with nullcontext() if above < 1e-4 else pytest.raises(ValueError, match="it must be at most"):
            weights, levels = private_weights(channel, table, population, epsilon, against)
            assert epsilon * (1.0 - 1e-5) <= levels.against(against) <= epsilon
            assert levels == levels_of(weights, table, population)


def test_outputs_that_never_occur_are_dropped(table):
    matrix = np.repeat([[0.6, 0.4, 0.0], [0.4, 0.6, 0.0]], 3, axis=0)
    weights, levels = private_weights(Channel(matrix), flat(table), None, 1.0, "anyone")
    assert weights.shape == (6, 2)
    assert levels == levels_of(weights, flat(table), None)


# Files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["private", "response"])
def test_a_channel_is_read_as_it_was_written(request, tmp_path, which):
    private = request.getfixturevalue(which)
    private.write(tmp_path / "c.json")
    read = read_channel(tmp_path / "c.json")
    assert read.text() == private.text()
    assert (read.weights == private.weights).all()
    assert read.certificate == private.certificate
    assert read.table.labels == private.table.labels
    assert (read.table.counts == private.table.counts).all()
    assert read.promise() == private.promise()
    assert ldp_epsilon(read.channel) == ldp_epsilon(private.channel)
    assert names(tmp_path) == ["c.answers.csv", "c.json", "c.matrix.csv", "c.thresholds.csv"]


def test_a_channel_without_a_level_for_every_distribution(private, tmp_path):
    levels = replace(private.certificate.levels, record=math.inf)
    endless = replace(private, certificate=replace(private.certificate, levels=levels))
    endless.write(tmp_path / "c.json")
    assert "Infinity" not in (tmp_path / "c.json").read_text(encoding="utf-8")
    assert read_channel(tmp_path / "c.json").certificate.levels.record == math.inf


@pytest.mark.parametrize("part", ["weights", "outsider", "beta", "counts", "illness", "source"])
def test_a_file_that_was_edited_is_refused(path, part):
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if f'"{part}"' in line)
    digit = next(
        i for i in range(place, len(lines)) if any(c in "123456789" for c in lines[i].split(":")[-1])
    )
    old = next(c for c in lines[digit].split(":")[-1] if c in "123456789")
    head, _, tail = lines[digit].rpartition(old)
    lines[digit] = head + str(int(old) % 9 + 1) + tail
    path.write_text("".join(lines), encoding="utf-8")
    with pytest.raises(ChannelFileError, match=r"channel\.json was changed after it was written"):
        read_channel(path)


def test_a_forged_certificate_is_not_believed(path):
    rewritten(path, lambda content: content["certificate"].update(epsilon=0.1))
    with pytest.raises(ValueError, match=r"level of the channel is 1; its certificate allows 0\.1"):
        read_channel(path).verified()


def test_all_files_or_none(path, private):
    before = {file: file.read_bytes() for file in path.parent.iterdir()}

    other = replace(private, certificate=replace(private.certificate, nmi=0.0))
    with pytest.raises(UnicodeEncodeError):
        other.write(path, {".last": "a letter that no file can have: \ud800"})
    assert {file: file.read_bytes() for file in path.parent.iterdir()} == before


def test_a_key_twice_is_refused(path):
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("{", '{"version": 7, ', 1), encoding="utf-8")
    with pytest.raises(ChannelFileError, match="it has a key twice"):
        read_channel(path)


@pytest.mark.parametrize(
    "data",
    [
        b"s,u,count\na,b,3\n",
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"format": "another"}',
        b'{"format": "\xff"}',
        b'{"format": "ldp-frontier channel", "version": 3}',
        b'{"format": "ldp-frontier channel"}',
    ],
)
def test_what_is_no_channel_file_is_refused(tmp_path, data):
    (tmp_path / "c.json").write_bytes(data)
    with pytest.raises(ChannelFileError, match=r"is not a channel file|but not a channel|this program reads"):
        read_channel(tmp_path / "c.json")


WRONG = {
    "no input": lambda c: c["weights"].pop(),
    "another sum": lambda c: c["weights"].__setitem__(0, "1 2 3 4 5 6"),
    "a negative weight": lambda c: c["weights"].__setitem__(0, f"{2**62 + 1} -1 0 0 0 0"),
    "weights of another type": lambda c: c.update(weights=5),
    "no design": lambda c: c.pop("design"),
    "no counts": lambda c: c["design"]["counts"].pop(),
    "a label twice": lambda c: c["design"]["rows"].__setitem__(0, c["design"]["rows"][1]),
    "a label of another type": lambda c: c["design"]["rows"].__setitem__(0, [5]),
    "a column as a text": lambda c: c["design"].update(sensitive="illness"),
    "a source of another type": lambda c: c["design"].update(source=5),
    "a negative count": lambda c: c["design"]["counts"][0].__setitem__(0, -1),
    "no level": lambda c: c["certificate"].pop("epsilon"),
    "an endless level": lambda c: c["certificate"].update(epsilon=math.inf),
    "a level as a truth": lambda c: c["certificate"].update(epsilon=True),
    "a level that is no number": lambda c: c["certificate"]["levels"].update(insider=math.nan),
    "nobody": lambda c: c["certificate"].update(against="all"),
    "intervals": lambda c: c["certificate"]["population"].update(intervals="wide"),
    "a radius": lambda c: c["certificate"]["population"].update(method="exact"),
    "a factor": lambda c: c["certificate"]["population"].update(factor=0.0),
    "no population": lambda c: c["certificate"].update(population=None),
    "no table": lambda c: c["design"].update(counts=None),
    "bits": lambda c: c.update(bits=53),
    "an id": lambda c: c.update(id="c000000000"),
}


@pytest.mark.parametrize("which", WRONG)
def test_a_file_with_a_good_hash_that_is_no_channel_is_refused(path, which):
    rewritten(path, WRONG[which])
    with pytest.raises(ChannelFileError, match="is not a valid channel: "):
        read_channel(path)


def test_intervals_are_exact_where_they_are_quick(table):
    assert population_of(table).intervals == "exact"
    many = replace(table, counts=table.counts * 10_000)
    assert population_of(many).intervals == "bonferroni"
    low = OddsRatios.confidence(many.counts, 0.05, "bonferroni").low
    assert (population_of(many).odds(many).low == low).all()
    assert population_of(flat(table)) is None
