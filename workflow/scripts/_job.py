"""Put the package of this repository on the path, and start the log of the job."""

import sys
from pathlib import Path

# The environment that a job runs in need not have the project installed.
source = Path(__file__).resolve().parents[2] / "src"
if source.is_dir():
    sys.path.insert(0, str(source))

from ldpfrontier.job import load, read_parts, read_tables, start  # noqa: E402

__all__ = ["load", "read_parts", "read_tables", "start"]
