"""The library and the command on a computer without what Unix alone has."""

import csv
import subprocess
import sys

import pytest

WITHOUT_UNIX = """
import os, signal, sys, warnings

warnings.filterwarnings("error", category=EncodingWarning, module="ldpfrontier")
for name in ("fcntl", "grp", "pwd", "resource", "syslog", "termios"):
    sys.modules[name] = None
for name in ("chown", "fchmod", "fchown", "fork", "getegid", "geteuid", "getgid", "getgroups", "getuid",
             "killpg", "lchown", "lockf", "mkfifo", "mknod", "setsid", "sysconf", "O_NOFOLLOW"):
    vars(os).pop(name)
for name in ("SIGALRM", "SIGKILL", "alarm", "setitimer"):
    vars(signal).pop(name)

def unless_open(call):
    def careful(path, *more):
        for number in os.listdir("/proc/self/fd"):
            if os.path.realpath(f"/proc/self/fd/{number}") == os.path.realpath(path):
                raise PermissionError(13, "The file is open", str(path))
        return call(path, *more)
    return careful

os.unlink, os.replace = unless_open(os.unlink), unless_open(os.replace)

import ldpfrontier
from ldpsurvey.command.cli import main

[getattr(ldpfrontier, name) for name in ldpfrontier.__all__]
sys.exit(max(main(command.split()) for command in sys.argv[1:]))
"""

COMMANDS = [
    "design --data people.csv --sensitive illness --useful region --epsilon 1 --out channel.json",
    "apply --channel channel.json --data people.csv --out reports.csv --memo memo --id id",
    "apply --channel channel.json --data people.csv --out again.csv --memo memo --id id",
    "estimate --channel channel.json --data reports.csv --out estimates.csv --plot estimates.svg",
]


@pytest.mark.skipif(sys.platform != "linux", reason="tells open files by /proc")
def test_nothing_of_unix_alone_is_needed(tmp_path):
    people = [("yes", "north"), ("no", "north"), ("yes", "south"), ("no", "south")] * 25
    with (tmp_path / "people.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [("id", "illness", "region"), *((n, *who) for n, who in enumerate(people))]
        )
    (tmp_path / f".{'0' * 32}.reports.csv").write_text("left by a run that was killed", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-c", WITHOUT_UNIX, *COMMANDS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reports.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    assert not list(tmp_path.glob(".*"))
