"""How long jobs took, and what is said before and after a run."""

from pathlib import Path

import pytest

from reproduction.planning import run_times
from reproduction.planning.provenance import configuration_hash
from reproduction.planning.run_times import (
    UNMEASURED_SECONDS,
    Expected,
    Job,
    Progress,
    announcement,
    benchmark_seconds,
    expected_times,
    read_times,
    record_times,
    scaled,
    shipped,
    summary,
    write_times,
)
from reproduction.planning.speed import Scale, loop_seconds

ROOT = Path(__file__).parents[4]
BENCHMARK = "s\th:m:s\tmax_rss\n{}\t0:00:01\t-\n"


def jobs(*names):
    return [Job(name, "settings") for name in names]


def times(**known):
    return [{(name, "settings"): value for name, value in known.items()}]


# Run times ------------------------------------------------------------------------------------------------


def test_a_job_is_named_by_its_benchmark_and_its_arguments():
    job = Job.from_benchmark("logs/p/kl/6/0.tsv", {"b": 1, "a": [2]})
    assert job == Job.from_benchmark(Path("logs/p/kl/6/0.tsv"), {"a": [2], "b": 1})
    assert job.name == "logs/p/kl/6/0"
    assert configuration_hash({"a": [2], "b": 1}).startswith(job.settings)
    assert job != Job.from_benchmark("logs/p/kl/6/0.tsv", {"a": [3], "b": 1})
    assert Job.from_benchmark("logs/p/kl.tsv", None) == Job.from_benchmark("logs/p/kl.tsv", {})


def test_run_times_are_kept_by_job_and_settings(tmp_path):
    path = tmp_path / "logs/run_times.csv"
    first, other, missing = Job("logs/a", "x"), Job("logs/a", "y"), Job("logs/b", "x")
    (tmp_path / "a.tsv").write_text(BENCHMARK.format(1.26))
    record_times([(first, tmp_path / "a.tsv"), (missing, tmp_path / "b.tsv")], path)
    assert read_times(path) == [{("logs/a", "x"): 1.3}]
    (tmp_path / "a.tsv").write_text(BENCHMARK.format(7.0) + "9.0\t0:00:09\t-\n")
    record_times([(other, tmp_path / "a.tsv")], path)
    assert read_times(path) == [{("logs/a", "x"): 1.3, ("logs/a", "y"): 9.0}]
    record_times([(first, tmp_path / "a.tsv")], path)
    assert path.read_text() == "job,settings,seconds\nlogs/a,x,9.0\nlogs/a,y,9.0\n"
    assert [file.name for file in path.parent.iterdir()] == ["run_times.csv"]


def test_benchmarks(tmp_path):
    path = tmp_path / "a.tsv"
    assert benchmark_seconds(path) == []
    for text, expected in (("", []), ("s\th:m:s\n", []), (BENCHMARK.format(2.5), [2.5])):
        path.write_text(text)
        assert benchmark_seconds(path) == expected


def test_an_earlier_file_counts_first_and_a_missing_one_has_nothing(tmp_path):
    own, other = tmp_path / "own.csv", tmp_path / "other.csv"
    own.write_text("job,settings,seconds\na,x,1.0\n")
    other.write_text("job,settings,seconds\na,x,5.0\nb,x,2.0\n")
    found = read_times(own, other, tmp_path / "none.csv")
    assert found == [{("a", "x"): 1.0}, {("a", "x"): 5.0, ("b", "x"): 2.0}, {}]
    assert [of.seconds for of in expected_times([Job("a", "x"), Job("b", "x")], found)] == [1.0, 2.0]
    assert read_times() == []


def test_a_configuration_of_the_project_has_its_own_times_first():
    assert shipped(ROOT / "resources", []) == [ROOT / "resources/run_times.csv"]
    found = shipped(ROOT / "resources", [ROOT / "config/smoke.yaml", Path("mine.yaml")])
    assert [path.name for path in found] == ["run_times_mine.csv", "run_times_smoke.csv", "run_times.csv"]
    assert [path.is_file() for path in found] == [False, True, True]


@pytest.mark.parametrize(
    "text", ["", "job,settings,seconds\na,x,1.0\nb,x,\nc,x\nd,x,long\n,", "\x00", "time\n1\n"]
)
def test_a_damaged_file_of_times_stops_nothing(tmp_path, text):
    path = tmp_path / "run_times.csv"
    path.write_text(text)
    assert read_times(path)[0].items() <= {("a", "x"): 1.0}.items()
    (tmp_path / "a.tsv").write_text(BENCHMARK.format(3.0))
    record_times([(Job("e", "x"), tmp_path / "a.tsv")], path)
    assert read_times(path)[0]["e", "x"] == 3.0


# Before ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "known", "cores", "sentence"),
    [
        ("ab", {}, 4, "2 jobs; expected: no run with these settings has been measured yet."),
        ("a", {"a": 12.0}, 4, "1 job; expected: about 12 s on 4 cores."),
        ("abcd", dict.fromkeys("abcd", 30.0), 2, "4 jobs; expected: about 60 s on 2 cores."),
        # Never less than the longest job.
        ("abcd", {"a": 80.0, "b": 1.0, "c": 1.0, "d": 1.0}, 4, "4 jobs; expected: about 80 s on 4 cores."),
        ("ab", {"a": 120.0, "b": 60.0}, 1, "2 jobs; expected: about 3 min on 1 core."),
        ("ab", {"a": 7200.0, "b": 3600.0}, None, "2 jobs; expected: about 3.0 h of one core."),
        (
            "ab",
            {"a": 0.2},
            1,
            "about 5 s on 1 core; 1 of them was not measured with these arguments, and may differ.",
        ),
        (
            "abc",
            {"a": 12.0},
            1,
            "about 22 s on 1 core; 2 of them were not measured with these arguments, and may differ.",
        ),
    ],
)
def test_what_is_said_before_a_run(names, known, cores, sentence):
    first, *source, last = announcement(iter(jobs(*names)), times(**known), cores).splitlines()
    assert first.endswith(sentence)
    assert source == ["The time is that of earlier runs in this directory."] * bool(known)
    assert last.startswith("Results go to results/, and the log of every job goes to logs/.")


def test_a_job_with_other_arguments_takes_as_long_as_others_of_its_block_or_of_its_rule():
    known = {
        ("logs/p/a/small/0", "x"): 2.0,
        ("logs/p/a/small/1", "x"): 4.0,
        ("logs/p/a/large/0", "x"): 9.0,
        ("logs/p/b", "x"): 7.0,
    }
    jobs = [
        Job(*job)
        for job in (
            ("logs/p/a/small/1", "x"),
            ("logs/p/a/small/1", "y"),
            ("logs/p/a/small/2", "x"),
            ("logs/p/a/other/0", "x"),
            ("logs/p/b", "y"),
            ("logs/p/c/0", "x"),
        )
    ]
    assert expected_times(jobs, [known]) == [
        Expected(4.0, is_measured=True),
        *[Expected(seconds, is_measured=False) for seconds in (3.0, 3.0, 5.0, 7.0)],
        Expected(UNMEASURED_SECONDS, is_measured=False, is_known=False),
    ]
    assert announcement(jobs[2:3], [known], 1, 2).startswith("2 jobs; ")
    assert "1 job; expected: about 3 s on 1 core; 1 of them was" in announcement(jobs[2:3], [known], 1)


def test_the_nearest_job_counts_and_of_equally_near_ones_that_of_the_first_file():
    first = {("logs/p/a/large/0", "x"): 9.0, ("logs/p/a/small/0", "x"): 2.0}
    second = {("logs/p/a/small/0", "y"): 4.0, ("logs/p/a/tiny/0", "y"): 1.0}
    names = ["small/1", "tiny/1", "other/0"]
    expected = expected_times([Job(f"logs/p/a/{name}", "z") for name in names], [{}, first, second])
    assert [of.seconds for of in expected] == [2.0, 1.0, 5.5]


def test_the_announced_time_says_from_what_it_was_scaled():
    """Two times of another machine, of which this one needs half as much again, and one of this one."""
    scale = Scale("a processor", 1.5)
    shipped = {("a", "settings"): 60.0, ("b", "settings"): 90.0}
    said = announcement(jobs("a", "b"), [{}, shipped], 1, scales=[scale])
    source = "scaled from 100 s of processor time measured on a processor by the speed of this machine, which"
    assert said.startswith(
        f"2 jobs; expected: about 2 min on 1 core.\nThe time is {source} takes 1.50 times as long.\nResults"
    )
    said = announcement(jobs("a", "b", "c"), [*times(a=30.0), shipped, {}], 1, scales=[scale, scale])
    source = source.replace("100 s", "60 s")
    own = "that of earlier runs in this directory"
    assert f"may differ.\nThe time is {source} takes 1.50 times as long, and {own}.\nResults" in said


def test_times_that_are_shipped_are_scaled_by_the_speed_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(run_times, "loop_seconds", lambda: 0.024)
    for name, seconds in (("run_times.csv", 10.0), ("run_times_smoke.csv", 3.0), ("run_times_mine.csv", 1.0)):
        write_times({("a", "x"): seconds}, tmp_path / name)
    (tmp_path / "durations.csv").write_text(
        "command,processor,cores,minutes,cpu,loop\n"
        "default,fast,2,8,10,0.012\ndefault,slow,2,13,20,\nsmoke,other,1,3,3,0.048\n"
    )
    paths = shipped(tmp_path, ["smoke.yaml", "mine.yaml", "none.yaml"])
    found, scales = scaled(paths, tmp_path / "durations.csv")
    assert found == [{}, {("a", "x"): 2.0}, {("a", "x"): 1.5}, {("a", "x"): 20.0}]
    assert scales == [Scale("fast", 2.0), Scale("fast", 2.0), Scale("other", 0.5), Scale("fast", 2.0)]


def test_the_speed_is_the_least_processor_time_of_a_loop():
    ticks = iter([0.0, 3.0, 3.0, 5.0, 5.0, 9.0, 9.0, 12.0, 12.0, 17.0])
    assert loop_seconds(lambda: next(ticks)) == 2.0
    assert loop_seconds() > 0


def test_a_run_that_computes_nothing_does_not_guess():
    assert announcement([], times(a=5.0), 2) == "Nothing has to be computed."


# During ---------------------------------------------------------------------------------------------------


def test_the_time_left_follows_the_pace_of_the_run():
    """Ten jobs of a minute on two cores: as announced first, then as slow as those that are done."""
    now = [0.0]
    progress = Progress(dict.fromkeys(range(10), Expected(60.0)), 2, lambda: now[0])
    assert progress.seconds_left() == pytest.approx(300.0)
    for first in range(0, 10, 2):
        for job in (first, first + 1):
            progress.start(job)
        now[0] += 120.0
        for job in (first, first + 1):
            progress.finish(job)
        left = (8 - first) * 120.0 / 2
        assert progress.share == pytest.approx((first + 2) / 10)
        assert progress.seconds_left() == pytest.approx(left, rel=0.1)
    assert progress.line(10, 10) == "10 of 10 jobs done, 100% of the work"


def test_a_job_that_runs_counts_for_what_is_left_of_it():
    now = [0.0]
    progress = Progress(
        {1: Expected(100.0), 2: Expected(UNMEASURED_SECONDS, False, False)},
        1,
        lambda: now[0],
    )
    progress.start(1)
    now[0] = 40.0
    assert progress.seconds_left() == pytest.approx(60.0 + UNMEASURED_SECONDS)
    assert progress.line(0, 2) == "0 of 2 jobs done, 0% of the work, about 65 s left"
    now[0] = 500.0  # Longer than expected: it may end at any time.
    assert progress.seconds_left() == pytest.approx(UNMEASURED_SECONDS)


def test_a_job_that_nobody_has_measured_does_not_change_the_pace():
    now = [0.0]
    progress = Progress({1: Expected(5.0, False, False), 2: Expected(60.0)}, 1, lambda: now[0])
    progress.start(1)
    now[0] = 600.0
    progress.finish(1)
    assert progress.seconds_left() == pytest.approx(60.0)


def test_what_a_cluster_runs_has_a_share_and_no_time():
    progress = Progress({1: Expected(10.0), 2: Expected(10.0)}, None)
    progress.start(1)
    progress.finish(1)
    progress.finish(7)  # A job without a run time, such as a target.
    assert progress.line(1, 3) == "1 of 3 jobs done, 50% of the work"


def test_a_run_says_how_well_its_announcements_were_kept(tmp_path):
    """Ten jobs of 10 s are expected; they take 20 s, which the second half of the run knows."""
    now, log = [0.0], tmp_path / "logs/progress.csv"
    progress = Progress(dict.fromkeys(range(10), Expected(10.0)), 1, lambda: now[0], log)
    for job in range(10):
        progress.start(job)
        now[0] += 20.0
        progress.finish(job)
        progress.line(job + 1, 10)
    rows = [[float(x) for x in line.split(",")] for line in log.read_text().splitlines()[1:]]
    assert [row[:2] for row in rows] == [[20.0 * i, i / 10] for i in range(11)]
    at = {share: row[0] + row[2] for row in rows for share in [row[1]]}
    assert rows[0][2] == 100.0
    assert abs(at[0.2] - 200.0) > abs(at[0.8] - 200.0)
    told = "3 min at 20% of the work, 3 min at 50% of the work, 3 min at 80% of the work"
    assert progress.kept_word() == f"The run took 3 min; the estimates were 2 min at the start, {told}."


def test_where_no_time_was_announced_none_is_compared():
    assert Progress({1: Expected(10.0)}, None).kept_word() == ""
    assert Progress({}, 2).kept_word() == ""


# After ----------------------------------------------------------------------------------------------------


def test_what_is_said_after_a_run(tmp_path):
    results = tmp_path / "results"
    assert (
        summary(results) == f"0 figures in {results}/figures/<paper>/, 0 tables in {results}/tables/<paper>/."
    )
    files = [f"figures/p/{name}" for name in ("fig1.pdf", "fig1.svg", "fig2.pdf")]
    files += [f"tables/p/{name}" for name in ("fig1.parquet", "fig1.csv")] + ["report/index.html"]
    for name in files:
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).touch()
    verdicts = ["reproduced", "not checkable", "reproduced"]
    rows = [f'{i},"a, ""b""\nc",{verdict}\n' for i, verdict in enumerate(verdicts)]
    (results / "claims.csv").write_text("order,statement,verdict\n" + "".join(rows))
    made, claimed, page = summary(str(results)).splitlines()
    assert made == f"2 figures in {results}/figures/<paper>/, 1 table in {results}/tables/<paper>/."
    assert claimed == f"3 claims: 2 reproduced, 1 not checkable ({results}/claims.md)."
    assert page == f"All results are on one page: {results}/report/index.html"
