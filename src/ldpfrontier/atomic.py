"""Files that are written all or nothing. Needs the standard library alone."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Give a temporary path that replaces `path` when the block succeeds and vanishes when it does not."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays last because some writers choose the format by it.
    partial = target.with_name(f".{uuid.uuid4().hex}.{target.name}")
    try:
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def write_text(text: str, path: Path | str) -> None:
    """Write a text as UTF-8 with its line ends as they are, all or nothing."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")
