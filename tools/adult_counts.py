"""Write the counts that the project ships from UCI's raw file: `python tools/adult_counts.py adult.data`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "workflow")]

from ldpfrontier.base.atomic import write_text  # noqa: E402
from reproduction.data import adult  # noqa: E402
from reproduction.data.catalogue import DataError  # noqa: E402


def main(raw: Path, output: Path = ROOT / "resources/adult_pair_counts.csv") -> None:
    """Count the raw file, or exit with a sentence if it does not have the counts of Adult."""
    try:
        write_text(adult.canonical_counts(adult.read_raw(raw), str(raw)), output)
    except DataError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
