"""The table of docs/cluster.md is made from the times and the memory that the project ships."""

import re
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    module = __import__("cluster")
    yield module
    sys.modules.pop("cluster")


def test_the_page_is_as_the_run_times_are(cluster):
    text = cluster.PAGE.read_text(encoding="utf-8")
    assert text == cluster.page(), "python tools/make_docs.py renews docs/cluster.md"


def test_every_job_is_in_one_row(cluster):
    rows = re.findall(r"^\| (.+?) \| (\d+) \| \d+ \| (\d+) \|", cluster.table(), re.MULTILINE)
    jobs = {name: (int(count), float(seconds)) for name, count, seconds in rows}
    times = pd.read_csv(ROOT / "resources/run_times.csv")
    submitted, rest = jobs.pop("all that are submitted"), jobs.pop("the rest, where Snakemake runs")
    assert sum(count for count, _ in jobs.values()) == submitted[0]
    assert submitted[0] + rest[0] == len(times)
    assert submitted[1] + rest[1] == pytest.approx(times["seconds"].sum(), abs=2.0)


def test_a_night_on_two_cores_is_enough_for_what_goes_beyond_the_papers(cluster):
    (jobs, hours) = re.findall(r"beyond\.yaml` \| (\d+) \| \d+ \| about (\d+) \|", cluster.costs())[0]
    assert int(jobs) > 1000
    assert 2 <= int(hours) / 2 <= 10
    for page in ("config/README.md", "config/beyond.yaml"):
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert re.search("a night (on|of) two cores", text), page
