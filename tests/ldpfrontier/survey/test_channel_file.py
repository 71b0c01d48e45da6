"""The file of a channel: what is stated is verified, and what was edited is refused."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from ldpfrontier import Channel, OddsRatios, conditional_epsilon, ldp_epsilon, unconditional_epsilon
from ldpfrontier.survey import PrivateChannel, audit_channel, design_channel, read_channel
from ldpfrontier.survey.attackers import whole_levels
from ldpfrontier.survey.channel_file import ChannelFileError, private_weights
from ldpfrontier.survey.methods import ROBUST_METHODS
from ldpfrontier.survey.population import usual_intervals
from ldpfrontier.survey.sampling import TOTAL, sampled_channel, sampled_level
from support.owndata import channel_of, flat, rewritten


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def path(private, tmp_path):
    private.write(tmp_path / "channel.json")
    return tmp_path / "channel.json"


# What is stated -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 6.0])
@pytest.mark.parametrize("mechanism", ["exact", "polyopt", "ir", "ir_optimal", "srr", "grr", "ldp"])
def test_what_is_sampled_keeps_the_level_that_was_asked_for(table, mechanism, epsilon):
    made = design_channel(table, epsilon, against="outsider", mechanisms=[mechanism])
    private = made.private(made.candidates[0])
    certificate = private.certificate
    assert certificate.level == certificate.levels.outsider <= epsilon
    assert certificate.levels == private.levels()
    # Another path: the levels of the same numbers as floats.
    sampled = sampled_channel(private.weights)
    assert certificate.level >= made.ball.worst_case_epsilon(sampled) - 1e-12
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
    assert private.odds is None


def test_a_channel_that_is_not_private_is_refused(table):
    identity = Channel(np.eye(6))
    with pytest.raises(ValueError, match=r"The level of the channel is inf|The level of the channel is \d"):
        private_weights(identity, flat(table), None, None, 1.0, "anyone")
    made = design_channel(table, 1.0, against="outsider", mechanisms=["nr"])
    with pytest.raises(ValueError, match=r"The level of the channel is \d.*; it must be at most 1"):
        made.private(made.candidates[0])


def test_outputs_that_never_occur_are_dropped(table):
    matrix = np.repeat([[0.6, 0.4, 0.0], [0.4, 0.6, 0.0]], 3, axis=0)
    weights, levels = private_weights(Channel(matrix), flat(table), None, None, 1.0, "anyone")
    assert weights.shape == (6, 2)
    assert levels == whole_levels(weights, (6, 1), None, None)


def test_weights_must_fit_the_table(table, private):
    with pytest.raises(ValueError, match="The channel has 5 inputs and the table has 6 values"):
        PrivateChannel(table, np.full((5, 1), TOTAL), private.certificate)


def test_a_certificate_that_says_too_little_is_seen(private):
    bold = replace(private, certificate=replace(private.certificate, epsilon=0.5))
    with pytest.raises(ValueError, match=r"The level of the channel is 1; its certificate allows 0\.5"):
        bold.verified()


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


def test_labels_of_any_kind_are_kept(table, private, tmp_path):
    odd = replace(table, columns=(("a\nb", '"q", 1'), ("é", "01"), ("$x$", "1")))
    replace(private, table=odd).write(tmp_path / "c.json")
    assert read_channel(tmp_path / "c.json").table.labels == odd.labels


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


def test_the_layout_of_a_file_does_not_count(path, private):
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")
    assert read_channel(path).text() == private.text()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("s,u,count\na,b,3\n", "is not a channel file: that is the JSON file which ldp-frontier design"),
        ("{", "is not a channel file: Expecting property name"),
        ("[]", "is a JSON file, but not a channel of ldp-frontier"),
        ('{"format": "another"}', "is a JSON file, but not a channel of ldp-frontier"),
        ('{"format": "ldp-frontier channel", "x": NaN}', "is not a channel file: it has the number NaN"),
        (
            '{"format": "ldp-frontier channel", "version": 1}',
            "of version 1; this program reads the versions 2 and 3",
        ),
        ('{"format": "ldp-frontier channel"}', "of version None; this program reads the versions 2 and 3"),
    ],
)
def test_what_is_no_channel_file_is_refused(tmp_path, text, sentence):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(ChannelFileError, match=sentence):
        read_channel(tmp_path / "c.json")


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "c.json").write_bytes(b'{"format": "\xff"}')
    with pytest.raises(ChannelFileError, match="is not a channel file: 'utf-8' codec can't decode"):
        read_channel(tmp_path / "c.json")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda c: c["weights"].pop(), "The channel has 5 inputs and the table has 6 values"),
        (lambda c: c["weights"].__setitem__(0, "1 2 3 4 5 6"), "Row 0 of the weights sums to 21"),
        (
            lambda c: c["weights"].__setitem__(0, "1 2"),
            "is not a valid channel: weights has rows of different lengths",
        ),
        (
            lambda c: c["weights"].__setitem__(0, f"{2**70} 0 0 0 0 0"),
            "allowed are whole numbers from 0 to 2.62",
        ),
        (lambda c: c.pop("design"), "is not a valid channel: The file lacks 'design'"),
        (lambda c: c["design"]["counts"].pop(), "is not a valid channel: The counts have shape"),
        (lambda c: c["certificate"].pop("epsilon"), "is not a valid channel: .*epsilon"),
        (
            lambda c: c["certificate"].update(against="all"),
            "against is 'all'; allowed are insider-only,",
        ),
        (lambda c: c["certificate"]["levels"].pop("insider"), "levels lacks 'insider'"),
        (lambda c: c["certificate"]["levels"].pop("acquaintance"), "levels lacks 'acquaintance'"),
        (
            lambda c: c["certificate"].update(intervals="wide"),
            "intervals is 'wide'; it must be 'exact', 'bonf",
        ),
        (lambda c: c["certificate"].update(intervals=None), "beta, order and intervals belong together"),
        (lambda c: c.update(version=2), "its version has no member 'intervals'"),
        (lambda c: c.update(bits=53), "its outputs do not match its weights"),
    ],
)
def test_a_file_with_a_good_hash_that_is_no_channel_is_refused(path, change, sentence):
    rewritten(path, change)
    with pytest.raises(ChannelFileError, match=sentence):
        read_channel(path)


def test_a_forged_certificate_is_not_believed(path):
    rewritten(path, lambda content: content["certificate"].update(epsilon=0.1))
    with pytest.raises(ValueError, match=r"level of the channel is 1; its certificate allows 0\.1"):
        read_channel(path).verified()


def as_version_2(content) -> None:
    """Change the content of a channel file to that of the version before acquaintances."""
    content["version"] = 2
    del content["certificate"]["intervals"], content["certificate"]["levels"]["acquaintance"]


@pytest.mark.parametrize("mechanism", ["exact", "srr"])
def test_a_file_of_the_former_version_is_read(table, tmp_path, mechanism):
    """Its level for acquaintances is measured, and the strongest promise that it keeps is made."""
    private = channel_of(table, mechanism, 1.0, "outsider")
    private.write(tmp_path / "c.json")
    rewritten(tmp_path / "c.json", as_version_2)
    read = read_channel(tmp_path / "c.json")
    # Until it is measured, it is what holds for anyone.
    assert read.certificate.levels.acquaintance == private.certificate.levels.anyone
    assert read.verified().certificate == private.certificate
    assert read.verified().promise() == private.promise()
    assert read.certificate.intervals == "exact"
    assert audit_channel(read).problems == ()
    assert audit_channel(read).levels == private.certificate.levels
    # The promise to outsiders and insiders was to outsiders, too.
    rewritten(tmp_path / "c.json", lambda content: content["certificate"].update(against="insider"))
    assert read_channel(tmp_path / "c.json").certificate == read.certificate
    # As it is written again it is of this version.
    assert read.verified().text() == private.text()


def test_intervals_are_exact_where_they_are_quick(table):
    assert usual_intervals(table.counts) == "exact"
    assert usual_intervals(table.counts * 10_000) == "bonferroni"
    many = channel_of(replace(table, counts=table.counts * 10_000), "srr", 1.0, "acquaintance")
    assert many.certificate.intervals == "bonferroni"
    low = OddsRatios.confidence(many.table.counts, 0.05, "bonferroni").low
    assert (many.odds.low == low).all()


def test_all_files_or_none(path, private):
    before = {file: file.read_bytes() for file in path.parent.iterdir()}

    other = replace(private, certificate=replace(private.certificate, nmi=0.0))
    with pytest.raises(UnicodeEncodeError):
        other.write(path, {".last": "a letter that no file can have: \ud800"})
    assert {file: file.read_bytes() for file in path.parent.iterdir()} == before


def test_a_channel_is_written_as_json(private, tmp_path):
    with pytest.raises(ValueError, match=r"ends in '\.csv'; the file of a channel must end in \.json"):
        private.write(tmp_path / "c.csv")
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("epsilon", "sentence"),
    [
        ("abc", "epsilon is 'abc'; it must be a number"),
        (None, "epsilon is None; it must be a number"),
        (True, "epsilon is True; it must be a number"),
        # Written as 1e999, which JSON allows and Python reads as infinity.
        (math.inf, "epsilon is inf; it must be a number"),
    ],
)
def test_a_level_that_is_no_finite_number_is_refused(path, epsilon, sentence):
    rewritten(path, lambda content: content["certificate"].update(epsilon=epsilon))
    path.write_text(path.read_text(encoding="utf-8").replace("Infinity", "1e999"), encoding="utf-8")
    with pytest.raises(ChannelFileError, match=re.escape(sentence)):
        read_channel(path)


def test_a_key_twice_is_refused(path):
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("{", '{"version": 7, ', 1), encoding="utf-8")
    with pytest.raises(ChannelFileError, match="it has the key 'version' twice"):
        read_channel(path)
