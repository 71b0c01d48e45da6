"""Designs for another radius of F: of any number of records, or of a population that may have changed."""

import numpy as np
import pytest

from ldpfrontier import RenyiBall
from ldpsurvey import CountTable, design_channel, read_channel

COUNTS = np.array([[300, 40, 20], [60, 150, 90]])
ROWS, COLUMNS = (("no",), ("yes",)), (("north",), ("south",), ("west",))
TABLE = CountTable(("illness",), ("region",), ROWS, COLUMNS, COUNTS)


@pytest.mark.parametrize(("method", "factor"), [("asymptotic", 4.0), ("finite", 2.5)])
def test_the_level_holds_over_the_larger_set(method, factor, tmp_path):
    ball, nmi = RenyiBall.confidence(COUNTS, method=method, factor=factor), []
    for chosen in (("asymptotic", 1.0), (method, factor)):
        choice = dict(zip(("radius_method", "radius_factor"), chosen, strict=True))
        made = design_channel(TABLE, 0.5, against="outsider", mechanisms=["exact"], **choice)
        private = made.private(made.best("information"))
        nmi.append(private.certificate.nmi)
        # The usual set is smaller, and its optimum is not private over the larger one.
        private_there = ball.worst_case_epsilon(private.channel) <= 0.5 + 1e-9
        assert private_there == (chosen == (method, factor))
    assert nmi[1] < nmi[0]
    private.write(tmp_path / "c.json")
    again = read_channel(tmp_path / "c.json")
    assert again.certificate == private.certificate
    assert again.certificate.population.ball(TABLE).radius == ball.radius
    when = "with any number of records" if method == "finite" else "with many records"
    assert f"(confidence 0.95 {when}, {factor:g} times the radius)." in again.promise()


@pytest.mark.parametrize("against", ["acquaintance", "anyone"])
def test_a_radius_that_changes_nothing_is_refused(against):
    for choice in ({"radius_method": "finite"}, {"radius_factor": 2.0}):
        with pytest.raises(ValueError, match=f"but the promise against {against} is about no F"):
            design_channel(TABLE, 0.5, against=against, mechanisms=["srr"], **choice)
    lone = CountTable(("illness",), (), ROWS, ((),), COUNTS.sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match="but the promise against anyone is about no F"):
        design_channel(lone, 0.5, mechanisms=["grr"], radius_factor=2.0)
