"""No command destroys what it reads, by whatever name its output goes."""

import os
import shutil
import stat

import pytest

from ldpsurvey.command.cli import main
from support.malformed import contents
from support.owndata import channel_of, records_of, small_table, write_records

TABLE = "illness,region,count\nno,north,30\nno,south,20\nyes,north,10\nyes,south,40\n"
DESIGN = ["design", "--sensitive", "illness", "--useful", "region", "--epsilon", "1", "--mechanism", "srr"]
APPLY = ["apply", "--channel", "channel.json", "--data", "people.csv", "--out"]
ESTIMATE = ["estimate", "--channel", "channel.json", "--data", "reports.csv", "--out"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with records, a channel, reports, and links to all of them, made once."""
    folder = tmp_path_factory.mktemp("made")
    write_records(folder / "people.csv", small_table(), records_of(small_table()))
    channel_of(small_table(), "srr").write(folder / "channel.json")
    before = os.getcwd()
    os.chdir(folder)
    try:
        assert main([*APPLY, "reports.csv"]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    (tmp_path / "table.matrix.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "link.csv").symlink_to("people.csv")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "reports.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ([*ESTIMATE, "reports.csv"], "reports.csv is the file that is read"),
        ([*ESTIMATE, "./reports.csv"], "reports.csv is the file that is read"),
        ([*ESTIMATE, "hard.csv"], "hard.csv is reports.csv, the file that is read"),
        ([*ESTIMATE, "channel.json"], "channel.json is the file that is read"),
        ([*ESTIMATE[:-1], "--picture", "channel.json"], "channel.json is the file that is read"),
        ([*ESTIMATE, "e.csv", "--picture", "e.csv"], "e.csv and e.csv are the same file; two outputs need"),
        ([*APPLY, "people.csv"], "people.csv is the file that is read"),
        ([*APPLY, "link.csv"], "link.csv is people.csv, the file that is read"),
        ([*APPLY, "channel.json"], "channel.json is the file that is read"),
        ([*APPLY, "folder.json"], "folder.json is a folder; an output must be a file"),
        ([*DESIGN, "--table", "table.matrix.csv", "--out", "table.json"], "table.matrix.csv is the file"),
        ([*DESIGN, "--table", "table.matrix.csv", "--out", "folder.json"], "folder.json is a folder"),
    ],
)
def test_an_output_that_is_an_input_is_refused_before_anything_is_written(here, capsys, command, sentence):
    before = contents(here)
    assert main(command) == 2
    assert sentence in capsys.readouterr().err
    assert contents(here) == before
    assert (here / "link.csv").is_symlink()


def test_reports_are_written_to_a_device_and_the_device_stays(here):
    if os.name != "posix":
        pytest.skip("Windows has no such devices")
    try:
        os.mknod(here / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        (here / "null").write_text("writable?")
    except OSError:
        pytest.skip("this user makes no devices")
    assert main([*APPLY, "null"]) == 0
    assert stat.S_ISCHR((here / "null").stat().st_mode)


def test_a_full_device_is_an_error_and_stays(here, capsys):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    assert main([*APPLY, "/dev/full"]) == 2
    assert "/dev/full: No space left" in capsys.readouterr().err
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


@pytest.mark.skipif(os.name != "posix", reason="Windows limits no files")
@pytest.mark.parametrize(
    ("command", "file"),
    [
        ([*DESIGN, "--table", "table.matrix.csv", "--out", "c.json"], "c.json"),
        ([*DESIGN, "--table", "table.matrix.csv", "--out", "c.json", "--plot", "c.svg"], "c.svg"),
        (["channel", "--values", "a=x,y", "--design", "warner", "--p", ".7", "--out", "c.json"], "c.json"),
        ([*APPLY, "out.csv"], "out.csv"),
        ([*ESTIMATE, "e.csv"], "e.csv"),
        ([*ESTIMATE[:-1], "--plot", "e.pdf"], "e.pdf"),
    ],
)
def test_what_does_not_fit_on_a_disk_is_named_and_nothing_is_left(here, capsys, command, file):
    """A limit of the length of files stands for a full disk: both end a write without a name."""
    import resource

    before, (soft, hard) = contents(here), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        status = main(command)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert status == 2
    assert f"ldp-frontier: {file}: " in capsys.readouterr().err
    assert contents(here) == before


@pytest.mark.skipif(os.name != "posix", reason="Windows has no masks of permissions")
def test_a_new_file_with_columns_of_the_records_is_for_its_owner_alone(here):
    mask = os.umask(0o022)
    try:
        assert main([*APPLY, "plain.csv"]) == 0
        assert main([*APPLY, "kept.csv", "--keep", "age"]) == 0
        (here / "shared.csv").write_text("old")
        (here / "shared.csv").chmod(0o640)
        assert main([*APPLY, "shared.csv", "--keep", "age", "--force"]) == 0
    finally:
        os.umask(mask)
    modes = {
        name: stat.S_IMODE((here / name).stat().st_mode) for name in ("plain.csv", "kept.csv", "shared.csv")
    }
    assert modes == {"plain.csv": 0o644, "kept.csv": 0o600, "shared.csv": 0o640}
