"""Files that are written all or nothing, also if the process is killed, and what is not replaced."""

import os
import stat
import subprocess
import sys
import threading

import pytest

from ldpfrontier.base.atomic import remove_abandoned, replacing, write_text

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no groups, masks or pipes of this kind")


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("old")

    def interrupted():
        with replacing(path) as partial:
            partial.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


KILLED = """
import sys, time
from ldpfrontier.base.atomic import replacing
with replacing(sys.argv[1]) as partial:
    partial.write_text("half")
    print(partial, flush=True)
    time.sleep(60)
"""


def test_what_a_killed_process_left_is_removed_by_the_next_and_what_is_in_use_is_not(tmp_path):
    path = tmp_path / "t.csv"
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        partial = process.stdout.readline().strip()
        assert remove_abandoned(path) == []
        with replacing(path) as own:
            own.write_text("other")
        assert os.path.exists(partial)
        process.kill()
    similar = tmp_path / f".{'0' * 32}.other.csv"
    similar.write_text("not a temporary file of this target")
    assert [str(found) for found in remove_abandoned(path)] == [partial]
    assert sorted(tmp_path.iterdir()) == sorted([path, similar])


def test_a_link_stays_a_link_and_what_it_links_to_is_replaced(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_text("new", tmp_path / "link.txt")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def permissions(path):
    return stat.S_IMODE(path.stat().st_mode)


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666])
def test_a_file_that_is_overwritten_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "t.txt"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as partial:
        assert permissions(partial) == 0o600  # nobody reads it before it is there
        partial.write_text("new")
    assert (path.read_text(), permissions(path)) == ("new", mode)


@posix
def test_a_new_file_has_the_permissions_that_are_asked_for(tmp_path):
    mask = os.umask(0o022)
    try:
        for name, more, mode in [("a", [], 0o644), ("b", [0o600], 0o600)]:
            with replacing(tmp_path / name, *more) as partial:
                assert permissions(partial) == mode
            assert permissions(tmp_path / name) == mode
    finally:
        os.umask(mask)


@posix
def test_the_group_is_kept_or_loses_its_permissions_to_no_other_group(tmp_path, monkeypatch):
    def denied(*_):
        raise PermissionError

    path = tmp_path / "t.txt"
    path.write_text("old")
    own = path.stat().st_gid
    other = next((group for group in os.getgroups() if group != own), own + 1)
    try:
        os.chown(path, -1, other)
    except PermissionError:
        pytest.skip("this user is in one group only")
    path.chmod(0o664)
    write_text("new", path)
    assert (path.stat().st_gid, permissions(path)) == (other, 0o664)
    monkeypatch.setattr("ldpfrontier.base.atomic.os.chown", denied)
    write_text("new", path)
    assert (path.stat().st_gid, permissions(path)) == (own, 0o604)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="this is not a file"):
        write_text("text", tmp_path)


@posix
def test_a_device_and_a_pipe_are_written_to(tmp_path):
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_text("writable?")
    except OSError:
        device = None
    if device:
        write_text("text", device)
        assert stat.S_ISCHR(device.stat().st_mode)
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_text("text", tmp_path / "pipe")
    reader.join()
    assert read == ["text"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
