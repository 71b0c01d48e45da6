"""Put the library and the reproduction of this repository on the path, and start the log of the job."""

import os
import sys
from pathlib import Path

# What one job compiles, all others find compiled.
os.environ["LDPFRONTIER_INTERPRET"] = "0"

# The environment that a job runs in need not have the project installed.
workflow = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(workflow), str(workflow.parent / "src")]

from reproduction.planning import executed_code  # noqa: E402

# What is imported before this is looked at afterwards.
executed_code.watch()

from reproduction.job import function_of, load, read_tables, require_plan, start, stored_table  # noqa: E402

__all__ = ["function_of", "load", "read_tables", "require_plan", "start", "stored_table"]
