"""Changes between two waves of a weighted, stratified or clustered sample, of both kinds of channels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from ldpsurvey import change_between, privatize_frame
from ldpsurvey.base.layout import Remark
from ldpsurvey.command.cli import main
from ldpsurvey.estimate.distribution import inversion, quantities
from support.malformed import refused
from support.owndata import channel_of, questionnaire_of, small_table

PEOPLE, NEW = 240, 80


def waves(channel, columns, seed=0):
    """Return the reports of two waves, a third of whose people are new, with weights, strata and clusters."""
    rng, found = np.random.default_rng(seed), []
    for first in (0, NEW):
        ids = np.arange(first, first + PEOPLE)
        answers = {name: rng.choice(some, PEOPLE) for name, some in columns.items()}
        frame = pd.DataFrame({
            **answers, "id": [f"p{i}" for i in ids], "w": rng.uniform(0.5, 4.0, PEOPLE), "h": ids % 3,
            "c": ids % 30 // 2,
        })  # fmt: skip
        keep = ["id", "w", "h", "c"]
        found.append(privatize_frame(channel, frame, keep=keep, source=np.random.default_rng(seed).bytes))
    return found


@pytest.fixture(scope="module")
def table_waves():
    private = channel_of(small_table(), "srr", 3.0, "anyone")
    columns = {"illness": ["no", "yes"], "region": ["north"], "age": ["old", "young"]}
    return private, waves(private, columns)


def linearised(added, frames, unit_of, strata):
    """Return the change and its error, computed unit by unit from what each report adds."""
    means, units = [], {}
    for wave, (values, frame) in enumerate(zip(added, frames, strict=True)):
        w = frame["w"].to_numpy()
        means.append((w * values).sum() / w.sum())
        of_wave = {}
        for place, key in enumerate(unit_of(frame)):
            stratum = frame["h"].iloc[place] if strata else 0
            of_wave.setdefault((stratum, key), []).append(w[place] * (values[place] - means[-1]) / w.sum())
        for stratum in {key[0] for key in of_wave}:
            sums = {key: sum(some) for key, some in of_wave.items() if key[0] == stratum}
            n, centre = len(sums), sum(sums.values()) / len(sums)
            for key, one in sums.items():
                sign, factor = 2 * wave - 1, (n / (n - 1)) ** 0.5
                units[key] = units.get(key, 0.0) + sign * factor * (one - centre)
    return means[1] - means[0], sum(one**2 for one in units.values()) ** 0.5


@pytest.mark.parametrize("cluster", [None, "c"])
@pytest.mark.parametrize("strata", [None, "h"])
def test_the_error_of_a_change_is_that_of_its_influence_by_person_or_cluster(table_waves, strata, cluster):
    private, frames = table_waves
    found = change_between([private], frames, person="id", weight="w", strata=strata, cluster=cluster)
    weights, asked = inversion(private.channel.matrix, private.table).weights, quantities(private.table)[0]
    outputs = [[private.outputs.index(report) for report in frame["report"]] for frame in frames]
    assert found.both == PEOPLE - NEW
    for row, quantity, own in zip(found.rows, asked, weights, strict=True):
        assert row.quantity == quantity
        change, error = linearised(
            [own[some] for some in outputs], frames, lambda frame: frame[cluster or "id"], strata
        )
        assert (row.change, row.error) == pytest.approx((change, error))
        # One more report of the typical weight at either end of each wave, as `estimate` counts them.
        more = 0.0
        for mean, frame in zip((row.first, row.second), frames, strict=True):
            size = (frame["w"] ** 2).sum() / frame["w"].sum() ** 2
            more += size**2 * ((own.max() - mean) ** 2 + (own.min() - mean) ** 2)
        sets = (frames[0]["h"] if strata else 0 * frames[0]["c"], frames[0][cluster or "id"])
        freedom = len(set(zip(*sets, strict=True))) - (3 if strata else 1)
        half = t.ppf(0.975, freedom) * (error**2 + more) ** 0.5
        assert row.high == pytest.approx(min(change + half, 1.0))


def test_equal_weights_are_nearly_none(table_waves):
    private, frames = table_waves
    equal = [frame.assign(w=2.0) for frame in frames]
    found = change_between([private], equal, person="id", weight="w")
    plain = change_between([private], equal, person="id")
    for row, other in zip(found.rows, plain.rows, strict=True):
        assert (row.first, row.change) == pytest.approx((other.first, other.change))
        assert (row.low, row.high) == pytest.approx((other.low, other.high), rel=0.02, abs=0.002)


def test_a_questionnaire_has_the_influences_of_its_people():
    """Of one table the reports add the same; here the weights of some people are the same as repeating."""
    channel = questionnaire_of((2, 2, 3))
    columns = dict(zip(channel.names, channel.answers, strict=True))
    frames = [frame.assign(w=1.0 + (frame.index < 60)) for frame in waves(channel, columns)]
    found = change_between([channel], frames, person="id", weight="w", cluster="c")
    again = [pd.concat([frame, frame[:60]]).drop(columns="id") for frame in frames]
    repeated = change_between([channel], again, cluster="c")
    for row, other in zip(found.rows, repeated.rows, strict=True):
        assert (row.change, row.error) == pytest.approx((other.change, other.error))


@pytest.mark.parametrize(
    ("column", "value", "options", "sentence"),
    [
        ("h", "x", ["--strata", "h"], "is in the stratum '2' in the first wave and in 'x' in the second"),
        ("c", "x", ["--cluster", "c"], "is in the cluster '10' in the first wave and in 'x' in the second"),
        ("w", "-1", ["--weight", "w"], "weights are numbers above 0"),
    ],
)
def test_what_does_not_agree_is_refused(table_waves, tmp_path, capsys, column, value, options, sentence):
    private, (first, second) = table_waves
    private.write(tmp_path / "c.json")
    first.to_csv(tmp_path / "a.csv", index=False)
    changed = second.astype({column: object})
    changed.loc[0, column] = value
    changed.to_csv(tmp_path / "b.csv", index=False)
    files = [str(tmp_path / name) for name in ("c.json", "a.csv", "b.csv")]
    words = ["change", "--channel", files[0], "--data", *files[1:], "--id", "id", *options]
    refused(tmp_path, capsys, words, sentence)


def test_clusters_and_strata_of_both_waves_agree(table_waves):
    private, (first, second) = table_waves
    own = [frame.drop(columns="id").assign(h=frame["c"] % 2) for frame in (first, second)]
    change_between([private], own, strata="h", cluster="c")
    own[1]["h"] = 1 - own[1]["h"]
    with pytest.raises(ValueError, match=r"is in the stratum '[01]' in the first wave and in '[01]' in the"):
        change_between([private], own, strata="h", cluster="c")
    lonely = [frame.assign(h=(frame.index == 0) * 1) for frame in own]
    with pytest.raises(ValueError, match="A stratum has one person in the first wave"):
        change_between([private], lonely, strata="h")


def test_weights_that_are_not_used_are_remarked_upon(table_waves, tmp_path, capsys):
    private, frames = table_waves
    private.write(tmp_path / "c.json")
    named = [frame.rename(columns={"w": "Weight"}) for frame in frames]
    with pytest.warns(Remark, match="the column 'Weight' has the name of survey weights and is not used"):
        change_between([private], named, person="id", cluster="c")
    for frame, name in zip(named, "ab", strict=True):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    words = ["change", "--channel", str(tmp_path / "c.json"), "--id", "id"]
    words += ["--data", str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert main(words) == 0
    assert capsys.readouterr().err.count("--weight Weight uses it") == 1
    assert main([*words, "--weight", "Weight"]) == 0
    assert not capsys.readouterr().err
