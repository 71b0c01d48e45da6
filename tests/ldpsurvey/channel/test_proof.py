"""The certificate of a channel to use: what is promised is proved of the whole numbers that are sampled."""

from dataclasses import replace

import numpy as np
import pytest

from ldpfrontier import level_certificate, verify
from ldpsurvey import CountTable, audit_channel, design_channel
from ldpsurvey.channel.proof import certified
from support.owndata import channel_of, flat, small_table


@pytest.mark.parametrize(
    ("against", "mechanism", "kind"),
    [
        ("outsider", "polyopt", "privacy over F"),
        ("acquaintance", "association", "privacy for all who know something about U"),
        ("anyone", "srr", "unconditional privacy"),
        ("insider-only", "label", "privacy given U"),
    ],
)
def test_the_level_promised_is_proved_and_a_lower_one_is_not(against, mechanism, kind):
    private = channel_of(small_table(), mechanism, against=against)
    document, said = certified(private)
    assert [claim["kind"] for claim in document["claims"]] == ["utility", kind]
    assert verify.check(document)[1:] == said
    assert audit_channel(private).proved == said[0]
    assumed = "no odds ratio of the population is below" in document.get("note", "")
    assert assumed == (against == "acquaintance")
    levels = private.certificate.levels
    name = "insider" if against == "insider-only" else against
    less = replace(levels, **{name: getattr(levels, name) - 1e-6})
    lower = replace(private, certificate=replace(private.certificate, levels=less))
    document, said = certified(lower)
    assert said == []
    assert "is not proved here" in document["note"]


def test_a_record_that_is_sensitive_as_a_whole():
    assert "local privacy" in certified(channel_of(flat(small_table()), "grr", against="anyone"))[1][0]


def test_of_order_1_the_level_over_f_is_computed_alone():
    made = design_channel(small_table(), 1.0, against="outsider", mechanisms=["srr"], order=1.0)
    document, said = certified(made.private(made.candidates[0]))
    assert said == []
    assert "is not proved here" in document["note"]
    assert len(verify.check(document)) == 1


def test_gaps_of_orders_near_1_are_no_fault_of_a_document():
    """Powers 1 / (order - 1) of small numbers: an exact sum with one of them would take all digits."""
    counts = np.array([[52, 4, 48], [0, 16, 2], [68, 0, 10]])
    table = CountTable(("s",), ("u",), tuple((x,) for x in "abc"), tuple((x,) for x in "xyz"), counts)
    made = design_channel(table, 0.01, against="outsider", order=1.0001, mechanisms=["srr"])
    assert certified(made.private(made.candidates[0]))[1]


def test_a_level_of_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="'privacy' is unknown"):
        level_certificate([[1, 1]], [[1, 1], [1, 1]], {"privacy": 1.0})
