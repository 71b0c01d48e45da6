"""Renew the schema of the configuration for editors, which has references: `python tools/schema.py`."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "workflow")]

from reproduction.planning.paper import papers  # noqa: E402

SCHEMAS = ROOT / "workflow/schemas"


def text() -> str:
    """Return the schema of the whole configuration as it is written: a reference for every section."""
    common = json.loads((SCHEMAS / "common.schema.json").read_text(encoding="utf-8"))
    own = {name: {"$ref": f"common.schema.json#/properties/{name}"} for name in common["properties"]}
    sections = {
        key: {"$ref": f"../{paper.folder.relative_to(SCHEMAS.parent).as_posix()}/config.schema.json"}
        for key, paper in papers().items()
        if paper.configuration_schema is not None
    }
    kept = {name: value for name, value in common.items() if name not in ("$defs", "required", "properties")}
    whole = {**kept, "required": [*common["required"], *sections], "properties": {**own, **sections}}
    return f"{laid_out(whole)}\n"


def laid_out(value: object, indent: str = "", before: int = 0) -> str:
    """Return JSON with everything on one line that fits into 110 characters, after `before` others."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(indent) + before + len(line) <= 109:
        return line
    inner = f"{indent}  "
    entries = (
        [(f"{json.dumps(k)}: ", v) for k, v in value.items()]
        if isinstance(value, dict)
        else [("", v) for v in value]
    )
    rows = [f"{inner}{name}{laid_out(entry, inner, len(name))}" for name, entry in entries]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([start, ",\n".join(rows), f"{indent}{end}"])


if __name__ == "__main__":
    (SCHEMAS / "config.schema.json").write_text(text(), encoding="utf-8")
