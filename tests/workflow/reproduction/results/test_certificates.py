"""Certificates as files, and what the checker, a program of its own, says of them."""

import json
from pathlib import Path

import numpy as np
import pytest

from ldpfrontier.certificates.local import ldp_certificate
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from reproduction.results.certificates import (
    DOCUMENTS,
    FAILED,
    PROVED,
    OptimumPlace,
    count_certificates,
    document_row,
    verified,
    write_documents,
)
from reproduction.results.tables import TableError

UTILITY = MutualInformation([0.2, 0.3, 0.5])


def row(epsilon: float, change=lambda document: None, **place: str) -> dict:
    """Return a row with the certificate of an optimum, after a change of it."""
    optimum = optimal_ldp(UTILITY, epsilon)
    document = json.loads(json.dumps(ldp_certificate(optimum, UTILITY, epsilon)))
    change(document)
    named = {"paper": "paper", "experiment": "mi", "size": "3", "instance": "a, b", "mechanism": "optimal"}
    return document_row(
        OptimumPlace(**(named | place), epsilon=epsilon), optimum.value, optimum.bound, document
    )


def claim(document: dict, name: str) -> dict:
    """Return the claim of a document that has a number of this name."""
    return next(claim for claim in document["claims"] if name in claim)


def raise_value(document: dict) -> None:
    claim(document, "at least")["at least"] = "0.9"


def lower_bound(document: dict) -> None:
    claim(document, "bound")["bound"] = "0.0001"


def break_format(document: dict) -> None:
    document["more"] = "1"


def test_documents_become_files_that_are_proved(tmp_path: Path) -> None:
    table = verified(DOCUMENTS.table([row(1.0), row(2.0)]), tmp_path / "certificates")
    assert list(table["outcome"]) == [PROVED, PROVED]
    assert list(table["file"]) == ["mi/3/a_b/optimal-1.json", "mi/3/a_b/optimal-2.json"]
    np.testing.assert_allclose(table["proved_bound"], table["bound"], rtol=1e-9)
    np.testing.assert_allclose(table["proved_value"], table["value"], rtol=1e-9)
    assert (table["proved_value"] <= table["proved_bound"]).all()
    for file, size in zip(table["file"], table["bytes"], strict=True):
        path = tmp_path / "certificates" / file
        assert path.stat().st_size == size
        assert json.loads(path.read_text())["format"] == "ldp-frontier certificate"


def test_claims_that_fail_are_counted(tmp_path: Path) -> None:
    rows = [row(1.0), row(2.0, raise_value), row(3.0, lower_bound)]
    table = verified(DOCUMENTS.table(rows), tmp_path)
    assert list(table["outcome"]) == [PROVED, FAILED, FAILED]
    assert table["sentence"].iloc[1].startswith("NOT PROVED: ")
    counts = count_certificates([table]).to_dict("records")
    assert [[x["bound proved to 0.5%"], x["farther bound proved"], x["failed"]] for x in counts] == [
        [1, 0, 2]
    ]


def test_what_is_no_certificate_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="malformed: the key 'more' is unknown"):
        verified(DOCUMENTS.table([row(1.0), row(2.0, break_format)]), tmp_path)


def test_every_certificate_has_a_file_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="one file name"):
        write_documents(DOCUMENTS.table([row(1.0), row(1.0, instance="a; b")]), tmp_path)


def test_a_value_beyond_its_bound_is_no_row() -> None:
    with pytest.raises(TableError, match="beyond its bound"):
        DOCUMENTS.table([row(1.0) | {"value": 2.0}])
