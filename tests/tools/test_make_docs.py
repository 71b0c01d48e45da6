"""What is generated in pages is what the code says today."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def loaded():
    spec = importlib.util.spec_from_file_location("make", ROOT / "tools/make_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE = loaded()


def test_the_table_of_engines_is_up_to_date():
    text = MAKE.ENGINES.read_text(encoding="utf-8")
    assert text == MAKE.engines(text), "run python tools/make_docs.py"


def test_the_page_of_public_names_is_up_to_date():
    text = MAKE.API.read_text(encoding="utf-8")
    assert text == MAKE.api(), "run python tools/make_docs.py"
