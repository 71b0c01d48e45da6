"""Renew the schema of the configuration for editors, from those of the papers: `python tools/schema.py`."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "workflow")]

from reproduction.planning.configuration import schema_with  # noqa: E402
from reproduction.planning.paper import papers  # noqa: E402

SCHEMAS = ROOT / "workflow/schemas"


def text() -> str:
    """Return the schema of the whole configuration as it is written."""
    common = json.loads((SCHEMAS / "common.schema.json").read_text(encoding="utf-8"))
    return json.dumps(schema_with(common, papers().values()), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    (SCHEMAS / "config.schema.json").write_text(text(), encoding="utf-8")
