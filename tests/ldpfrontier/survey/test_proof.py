"""The certificate of a channel to use: what is promised is proved of the whole numbers that are sampled."""

from dataclasses import replace

import numpy as np
import pytest

from ldpfrontier import verify
from ldpfrontier.certificates.numbers import written_channel
from ldpfrontier.survey import CountTable
from ldpfrontier.survey.auditing import audit_channel
from ldpfrontier.survey.design import design_channel
from ldpfrontier.survey.proof import channel_certificate, level_certificate, proved_levels
from ldpfrontier.survey.texts import audit_text
from support.owndata import channel_of, flat, small_table


@pytest.mark.parametrize(
    ("against", "mechanism", "kinds"),
    [
        ("outsider", "polyopt", ["privacy over F"]),
        ("acquaintance", "association", ["privacy for all who know something about U"]),
        ("anyone", "srr", ["unconditional privacy"]),
    ],
)
def test_the_levels_promised_are_proved(against, mechanism, kinds) -> None:
    private = channel_of(small_table(), mechanism, against=against)
    document = level_certificate(private)
    assert [claim["kind"] for claim in document["claims"]] == kinds
    assert document["channel"] == written_channel(private.weights.tolist())
    said = "; ".join(verify.check(document))
    found = audit_channel(private)
    assert found.proved == said == proved_levels(private)
    text = " ".join(audit_text(found, private).split())
    assert "The following is proved in exact arithmetic: the mechanism in this file" in text
    assert ("no odds ratio of the population is below" in document.get("note", "")) == (
        against == "acquaintance"
    )


def test_a_record_that_is_sensitive_as_a_whole() -> None:
    private = channel_of(flat(small_table()), "grr", against="anyone")
    assert "local privacy" in proved_levels(private)


def test_a_level_for_acquaintances_that_is_too_low_is_not_proved() -> None:
    private = channel_of(small_table(), "association", against="acquaintance")
    levels = private.certificate.levels
    less = replace(levels, acquaintance=levels.acquaintance - 1e-6)
    stated = replace(private, certificate=replace(private.certificate, levels=less))
    with pytest.raises(verify.Unproved):
        verify.check(level_certificate(stated))
    assert proved_levels(stated) == ""


def test_a_level_that_is_too_low_is_not_proved() -> None:
    private = channel_of(small_table(), "srr", against="outsider")
    levels = private.certificate.levels
    less = replace(levels, outsider=levels.outsider - 1e-8)
    stated = replace(private, certificate=replace(private.certificate, levels=less))
    with pytest.raises(verify.Unproved):
        verify.check(level_certificate(stated))
    assert proved_levels(stated) == ""


@pytest.mark.parametrize(
    ("order", "kinds"),
    [(2.0, ["utility", "privacy over F"]), (1.0, ["utility"])],
)
def test_a_certificate_file_has_what_is_proved(order, kinds) -> None:
    """Of order 1 the level over F is computed alone, and the file says so."""
    made = design_channel(small_table(), 1.0, against="outsider", mechanisms=["srr"], order=order)
    private = made.private(made.candidates[0])
    document = verify.load(channel_certificate(private))
    assert [claim["kind"] for claim in document["claims"]] == kinds
    assert len(verify.check(document)) == len(kinds)
    assert ("is not proved here" in document["note"]) == (order == 1.0)


def test_gaps_of_orders_near_1_are_no_fault_of_a_document():
    """Powers 1 / (order - 1) of small numbers: an exact sum with one of them would take all digits."""
    counts = np.array([[52, 4, 48], [0, 16, 2], [68, 0, 10]])
    table = CountTable(("s",), ("u",), tuple((x,) for x in "abc"), tuple((x,) for x in "xyz"), counts)
    made = design_channel(table, 0.01, against="outsider", order=1.0001, mechanisms=["srr"])
    private = made.private(made.candidates[0])
    assert verify.check(level_certificate(private))
