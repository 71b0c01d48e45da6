"""Put the library and the reproduction of this repository on the path, and start the log of the job."""

import sys
from pathlib import Path

# The environment that a job runs in need not have the project installed.
workflow = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(workflow), str(workflow.parent / "src")]

from reproduction.job import load, read_tables, start  # noqa: E402

__all__ = ["load", "read_tables", "start"]
