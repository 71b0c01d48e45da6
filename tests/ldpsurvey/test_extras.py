"""What the command says where a library of an extra is not installed."""

import subprocess
import sys

import pytest

WITHOUT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refuse())
from ldpsurvey.command.cli import main
sys.exit(main(sys.argv[2:]))
"""


def run(hidden, *words):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, hidden, *map(str, words)], capture_output=True, text=True, check=False
    )


def design(folder):
    table = folder / "t.csv"
    table.write_text("s,u,count\na,x,30\na,y,20\nb,x,10\nb,y,40\n", encoding="utf-8")
    words = ["design", "--table", table, "--sensitive", "s", "--useful", "u", "--epsilon", "1"]
    return [*words, "--mechanism", "grr", "--out", folder / "c.json"]


def test_without_an_extra_a_channel_is_designed_and_the_extra_is_named(tmp_path):
    words = design(tmp_path)
    # What only the reproduction needs is hidden as well.
    hidden = "matplotlib,pyarrow,pyreadstat,cvxpy,jinja2,jsonschema,latex2mathml,snakemake,yaml"
    done = run(hidden, *words)
    assert done.returncode == 0, done.stderr
    assert sorted(path.suffix for path in tmp_path.glob("c.*")) == [*[".csv"] * 4, ".json", ".json", ".mjs"]
    done = run(hidden, *words, "--force", "--plot", tmp_path / "picture.svg")
    assert done.returncode == 2
    assert "matplotlib is not installed; pip install matplotlib brings it" in done.stderr
    assert not (tmp_path / "picture.svg").exists()


def test_without_pandas_the_extra_is_named_and_certificates_are_checked(tmp_path):
    done = run("pandas", *design(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    sentence = (
        "pandas is not installed; pip install pandas brings it, as does the extra survey of the package."
    )
    assert done.stderr == f"ldp-frontier: {sentence}\n"
    assert run("", *design(tmp_path)).returncode == 0
    assert run("pandas,numpy", "verify", tmp_path / "c.certificate.json").returncode == 0


@pytest.mark.parametrize(("library", "start"), [("pyarrow", b"PAR1"), ("pyreadstat", b"$FL2")])
def test_a_file_whose_library_is_not_installed_names_the_extra(tmp_path, library, start):
    words = design(tmp_path)
    words[2].write_bytes(start)
    done = run(library, *words)
    assert done.returncode == 2
    assert f"{library} is not installed; pip install {library} brings it" in done.stderr
