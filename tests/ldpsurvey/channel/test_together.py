"""What several reports of one person reveal together: the command `level`, against attackers."""

import itertools
import json
import re

import numpy as np
import pytest

from ldpfrontier import Channel
from ldpsurvey import CountTable, PrivateChannel, read_channel
from ldpsurvey.channel.attackers import ATTACKERS, levels_of, population_of
from ldpsurvey.channel.channel_file import private_weights
from ldpsurvey.channel.promises import ChannelCertificate
from ldpsurvey.command.cli import main
from ldpsurvey.design.least_level import design_for_reports
from support.grids import few
from support.malformed import refused
from support.owndata import channel_of, flat, small_table


def random_table(rng: np.random.Generator) -> CountTable:
    a1, a2 = rng.integers(2, 4, 2).tolist()
    rows, columns = ([(f"{name}{i}",) for i in range(size)] for name, size in (("s", a1), ("u", a2)))
    counts = rng.integers(5, 200, (a1, a2))
    return CountTable(("secret",), ("useful",), tuple(rows), tuple(columns), counts)


def channel_for(table: CountTable, channel: Channel) -> PrivateChannel:
    """A channel that may be written, at the level for acquaintances that it has."""
    population = population_of(table)
    epsilon = levels_of(channel.matrix, table, population).acquaintance + 1e-6
    weights, levels = private_weights(channel, table, population, epsilon, "acquaintance")
    certificate = ChannelCertificate(
        mechanism="own", against="acquaintance", epsilon=epsilon, levels=levels, population=population,
        nmi=0.5, bound=1.0,
    )  # fmt: skip
    return PrivateChannel(table, weights, certificate)


def level_of(columns: np.ndarray, given: np.ndarray) -> float:
    """The largest log ratio of chances, for conditional distributions of U given S, shape (..., a1, a2)."""
    chances = np.einsum("...su,suy->...sy", given, columns)
    return float(np.log(chances.max(axis=-2) / chances.min(axis=-2)).max())


@pytest.mark.parametrize("part", few([0], more=range(1, 8)))
def test_an_attacker_who_sees_three_reports_learns_no_more_than_is_said(part, tmp_path, monkeypatch, capsys):
    """On 25 tables: by all products of three columns, and by what somebody may know."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(part)
    for _ in range(25):
        table = random_table(rng)
        a1, a2 = table.counts.shape
        matrices = [rng.dirichlet(np.full(3, 1.5), a1 * a2) * 0.9 + 0.1 / 3 for _ in range(2)]
        for name, matrix in zip("ab", matrices, strict=True):
            channel_for(table, Channel(matrix)).write(f"{name}.json")
        assert main(["level", "a.json", "b.json", "b.json", "--json"]) == 0
        said = {one["against"]: one for one in json.loads(capsys.readouterr().out)["levels"]}
        assert all(one["exact"] for one in said.values())
        first, second = (matrix.reshape(a1, a2, 3) for matrix in matrices)
        products = [
            first[..., i] * second[..., j] * second[..., k]
            for i, j, k in itertools.product(range(3), repeat=3)
        ]
        columns = np.stack(products, axis=-1)
        # What somebody knows multiplies the shares of U, and any marginals leave the odds ratios as they are.
        weights = np.concatenate([rng.random((200, a2)) ** 6, np.eye(a2) + 1e-300])
        pairs = [weights * np.isin(range(a2), pair) for pair in itertools.combinations(range(a2), 2)]
        weights = np.concatenate([weights, *pairs])
        given = weights[weights.sum(axis=1) > 0, None] * table.distribution
        found = {
            "outsider": level_of(columns, table.distribution / table.distribution.sum(axis=1, keepdims=True)),
            "acquaintance": level_of(columns, given / given.sum(axis=-1, keepdims=True)),
            "insider-only": level_of(columns, np.tile(np.eye(a2)[:, None], (a1, 1))),
            "anyone": level_of(columns, np.eye(a2)[list(itertools.product(range(a2), repeat=a1))]),
        }
        for who in ATTACKERS:
            assert found[who] <= said[who]["level"] * (1 + 1e-9), who
        assert found["anyone"] == pytest.approx(said["anyone"]["level"], rel=1e-6)
        assert found["insider-only"] == pytest.approx(said["insider-only"]["level"], rel=1e-6)


def test_where_answers_change_no_more_is_learned_than_is_said(tmp_path, monkeypatch, capsys, table):
    """A report by each of two channels: by all pairs of histories of S, and of U if it is not known."""
    monkeypatch.chdir(tmp_path)
    anyone = design_for_reports(table, 1.0, 2, "information", against="anyone", mechanisms=["unconditional"])
    anyone.private(anyone.best("information")).write("a.json")
    channel_of(table, "subset").write("b.json")
    # Inputs are pairs (s, u).
    a2 = len(table.columns)
    sensitive, useful = np.divmod(np.arange(table.counts.size), a2)
    other = sensitive[:, None] != sensitive
    same = useful[:, None] == useful
    for paths in (["a.json", "a.json"], ["a.json", "b.json"]):
        assert main(["level", *paths]) == 0
        said = " ".join(capsys.readouterr().out.split())
        levels = re.search(
            r"the level is at most ([\d.]+) for whoever knows .*? at most ([\d.]+) for anyone", said
        )
        # Reports are drawn independently: the largest log ratio of both is the sum of those of each.
        ratios = [
            np.log(matrix[:, None] / matrix).max(axis=2)
            for matrix in (read_channel(path).channel.matrix for path in paths)
        ]
        known = max(
            sum(ratio[same & (other == changed)].max() for ratio, changed in zip(ratios, which, strict=True))
            for which in ((True, True), (True, False), (False, True))
        )
        unknown = max(
            sum(ratio[other == changed].max() for ratio, changed in zip(ratios, which, strict=True))
            for which in ((True, True), (True, False), (False, True))
        )
        assert known <= float(levels[1]) <= known + 0.011
        assert unknown <= float(levels[2])
        if paths == ["a.json", "a.json"]:
            # More than twice the level of one report, which the channel keeps for the same answers.
            assert unknown > 1.2
            promise = read_channel("a.json").promise()
            assert "if the answers are the same each time" in promise


def test_the_command_says_the_levels_for_each_reader(tmp_path, monkeypatch, capsys, table):
    monkeypatch.chdir(tmp_path)
    channel_of(table, "polyopt").write("weak.json")
    channel_of(table, "grr").write("response.json")
    assert main(["level", "weak.json", "weak.json", "response.json"]) == 0
    said = capsys.readouterr().out
    assert "2 by weak.json, 1 by response.json" in " ".join(said.split())
    assert len([line for line in said.splitlines() if line.startswith("no limit")]) == 4
    assert main(["level", "response.json", "response.json"]) == 0
    lines = capsys.readouterr().out.splitlines()[-3:]
    assert [line.split()[:2] for line in lines] == [["2.00", "exact"]] * 3
    channel_of(flat(table), "grr").write("flat.json")
    assert main(["level", *["flat.json"] * 3]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[:2] == ["3.00", "exact"]


def test_channels_of_other_answers_or_tables_are_refused(here, capsys):
    channel_of(
        CountTable(("x",), ("y",), (("0",), ("1",)), (("0",), ("1",)), np.ones((2, 2), int)), "srr"
    ).write("other.json")
    refused(
        here, capsys, ["level", "channel.json", "other.json"], "other.json is about x, y, and channel.json"
    )
    table = small_table()
    more = CountTable(table.sensitive, table.useful, table.rows, table.columns, table.counts + 1)
    channel_of(more, "srr").write("more.json")
    refused(here, capsys, ["level", "channel.json", "more.json"], "different sensitive columns, counts or")
    refused(here, capsys, ["level", "channel.json", "people.csv"], "people.csv is not a channel file")
