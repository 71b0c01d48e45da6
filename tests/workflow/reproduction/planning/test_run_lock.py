"""One run at a time in a directory."""

import os
import subprocess
import sys

import pytest

from reproduction.planning import run_lock

HOLD = "import sys, time; sys.path.insert(0, sys.argv[1]); from reproduction.planning import run_lock;"
HOLD += "file = run_lock.lock(sys.argv[2]); print('held', flush=True); time.sleep(60)"


def test_a_directory_has_one_run_and_is_free_once_it_ends(tmp_path):
    path = tmp_path / "results/.run"
    first = run_lock.lock(path)
    with pytest.raises(
        run_lock.Busy, match=f"Another run, process {os.getpid()} on .*, is using this directory"
    ):
        run_lock.lock(path)
    os.close(first)
    os.close(run_lock.lock(path))


def test_a_killed_process_leaves_nothing_in_the_way(tmp_path, pytestconfig):
    path = tmp_path / ".run"
    command = [sys.executable, "-c", HOLD, str(pytestconfig.rootpath / "workflow"), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(run_lock.Busy, match=f"process {process.pid} on "):
            run_lock.lock(path)
        process.kill()
    os.close(run_lock.lock(path))
    assert path.read_text().startswith(f"process {os.getpid()} on ")


def test_the_results_of_another_configuration_are_not_replaced_unasked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record = tmp_path / ".finished"
    run_lock.keep_finished(record, ["smoke.yaml"])
    run_lock.note_finished(record, [])
    run_lock.keep_finished(record, [])
    with pytest.raises(
        run_lock.WouldReplace, match="contains the results of the default configuration, and this run"
    ):
        run_lock.keep_finished(record, [tmp_path / "smoke.yaml"])
    run_lock.note_finished(record, [tmp_path / "smoke.yaml"])
    run_lock.keep_finished(record, ["smoke.yaml"])
    with pytest.raises(run_lock.WouldReplace, match="the results of the configuration of smoke"):
        run_lock.keep_finished(record, [])
