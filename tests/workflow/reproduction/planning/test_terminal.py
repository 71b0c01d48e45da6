"""What is on the terminal during a run."""

import io
import logging
import re

import pytest

from reproduction.planning.run_times import Expected, Progress
from reproduction.planning.terminal import Concise


@pytest.fixture
def written():
    """Return a function that logs a message with attributes and returns what the terminal has of it."""
    logger, file = logging.Logger("toy"), io.StringIO()
    for name, stream in (("DefaultStreamHandler", io.StringIO()), ("another", file)):
        handler = logging.StreamHandler(stream)
        handler.name = name
        logger.addHandler(handler)
    Concise(logger).progress = Progress({1: Expected(10.0), 2: Expected(30.0)}, 1)

    def write(message, level=logging.INFO, **attributes):
        terminal = logger.handlers[0].stream
        terminal.seek(0)
        terminal.truncate()
        logger.log(level, message, extra=attributes)
        assert file.getvalue().endswith(f"{message}\n"), "other handlers keep everything"
        return terminal.getvalue()

    return write


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("Select jobs to execute...", False),
        ("Execute 2 jobs...", False),
        ("Job stats:\njob     count\nfigure  3", False),
        ("Activating conda environment: .snakemake/conda/0123_", False),
        ("Creating conda environment envs/ldpfrontier.yaml...", True),
        ("", False),
        (" \n", False),
        ("Provided cores: 2", True),
        ("Error in rule figure:", True),
    ],
)
def test_what_says_nothing_is_dropped(written, message, kept):
    assert written(message) == (f"{message}\n" if kept else "")


def test_a_job_has_one_line_and_an_error_keeps_all_it_says(written):
    job = "rule figure:\n    input: a\n    output: b"
    assert re.fullmatch(
        r"\[\d\d:\d\d:\d\d\] Draw fig1 of toy2026\n", written(job, rule_msg="Draw fig1 of toy2026")
    )
    failed = "Error in rule figure:\n    log: x"
    assert written(failed, logging.ERROR, rule_msg="Draw fig1 of toy2026") == f"{failed}\n"


def test_progress_is_a_share_of_the_work(written):
    """Of one job of 10 s and one of 30 s the first is a quarter."""
    written("rule a:", rule_msg="Compute a", jobid=1)
    assert written("Finished jobid: 1 (Rule: a)", job_id=1) == ""
    assert re.fullmatch(
        r"1 of 2 jobs done, 25% of the work, about \d+ s left\n", written("None", done=1, total=2)
    )
    written("rule b:", rule_msg="Compute b", jobid=2)
    written("Finished jobid: 2 (Rule: b)", job_id=2)
    assert written("None", done=2, total=2) == "2 of 2 jobs done, 100% of the work\n"
