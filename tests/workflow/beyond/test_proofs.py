"""Bounds of optima that are proved: documents near what was computed, or a note why there is none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from beyond.proofs import proofs
from ldpfrontier import verify
from reproduction.planning.plan import plan_of
from reproduction.results.certificates import FAILED, PROVED, verified

COUNTS = np.array([[70, 100], [260, 570]])


def test_every_optimum_has_a_document_that_is_proved(tmp_path):
    documents = proofs(COUNTS, [0.5], instance="a, b", excess=0.01)
    assert set(documents["mechanism"]) == {"exact", "association_set"}
    found = verified(documents, tmp_path)
    assert (found["outcome"] == PROVED).all()
    for row in found.to_dict("records"):
        assert row["proved_value"] == pytest.approx(row["value"], rel=1e-6)
        assert row["bound"] <= row["proved_bound"] <= 1.0101 * row["value"]
    # A lower bound is refused.
    claims = json.loads(documents["document"].iloc[0])
    claims["claims"][0]["bound"] = (
        f"{verify.Decimal(claims['claims'][0]['bound']) * verify.Decimal('0.98'):f}"
    )
    lower = verified(documents.iloc[:1].assign(document=json.dumps(claims)), tmp_path)
    assert lower["outcome"].tolist() == [FAILED]


@pytest.mark.parametrize(("counts", "order"), [(COUNTS, 1.0), (np.ones((3, 6), dtype=int), 2.0)])
def test_what_has_no_proof_has_no_document(counts, order, caplog):
    caplog.set_level("INFO")
    assert proofs(counts, [0.5], instance="a, b", order=order).empty
    assert caplog.text.count("no proof of ") == 2


def test_the_page_says_what_the_default_configuration_has_proved():
    page = Path(__file__).parents[3] / "docs/beyond/numbers.md"
    page = " ".join(page.read_text(encoding="utf-8").split())
    said = re.search(
        r"at ε = ([\d.]+) and ([\d.]+) it is \S+ that none carries more than ([\d.]+)% more", page
    )
    study = plan_of().configuration["beyond"]["proofs"]
    assert [*map(float, said.groups())] == [*study["epsilon"], 100.0 * study["excess"]]
    assert study["pairs"] == 2
