"""A folder for malformed calls of the command, and the check that a call leaves it as it was."""

import os
from pathlib import Path

from ldpsurvey.command.cli import main
from support.owndata import channel_of, records_of, small_table, write_records

COUNTS = "illness,region,count\nno,north,30\nno,south,20\nyes,north,10\nyes,south,40\n"
DESIGN = ["design", "--sensitive", "illness", "--useful", "region", "--mechanism", "srr", "--out", "new.json"]
DESIGN.append("--force")  # what is refused is refused for another reason
TABLE = [*DESIGN, "--epsilon", "1", "--table"]
RECORDS = [*DESIGN, "--epsilon", "1", "--data"]
APPLY = ["apply", "--force", "--channel", "channel.json", "--data", "people.csv", "--out", "out.csv"]
ESTIMATE = ["estimate", "--channel", "channel.json", "--data", "reports.csv"]
AUDIT = ["audit", "--channel", "channel.json"]


def fill(folder: Path) -> None:
    """Put records, counts, a channel, reports and files to be kept into a folder; enter it."""
    os.chdir(folder)
    write_records(folder / "people.csv", small_table(), records_of(small_table()))
    (folder / "table.csv").write_text(COUNTS, encoding="utf-8")
    channel_of(small_table(), "srr").write(folder / "channel.json")
    assert main([*APPLY[:-1], "reports.csv"]) == 0
    for name in ("out.csv", "e.csv", "e.svg", "new.json", "new.matrix.csv"):
        (folder / name).write_text("to be kept", encoding="utf-8")
    (folder / "folder.json").mkdir()
    (folder / "folder.csv").mkdir()


def contents(folder: Path) -> dict[str, object]:
    """Return everything in a folder: the bytes of files, the targets of links, and folders."""

    def content(path: Path) -> object:
        if path.is_symlink():
            return os.readlink(path)
        return path.read_bytes() if path.is_file() else None

    return {str(path.relative_to(folder)): content(path) for path in folder.rglob("*")}


def refused(folder: Path, capsys, arguments: list[str], sentence: str) -> str:
    """Return the last line of a command, after checking that it has a sentence and changed no file."""
    before = contents(folder)
    capsys.readouterr()
    try:
        status = main(arguments)
    except SystemExit as end:
        status = end.code
    said = capsys.readouterr()
    assert status == 2, said
    assert said.out == ""
    last = said.err.rstrip().splitlines()[-1]
    assert last.startswith("ldp-frontier")
    assert sentence in last
    assert contents(folder) == before
    return last
