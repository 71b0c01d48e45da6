"""People who refuse, of whose answers nothing is known, among everybody."""

import numpy as np
import pytest
from scipy.optimize import linprog

from ldpsurvey import design_channel, table_of_values
from ldpsurvey.channel.reports import count_refusals
from ldpsurvey.command.cli import main
from ldpsurvey.estimate.deviating import DeviatingReports

TABLE = table_of_values({"ill": ["no", "yes"], "age": ["old", "young"]}, ["ill"], ["age"])
DESIGN = design_channel(TABLE, 2.0, records=1_000, mechanisms=["grr"])
PRIVATE = DESIGN.private(DESIGN.candidates[0])
MATRIX = PRIVATE.channel.matrix
COUNTS, REFUSALS = np.array([260, 250, 255, 235]), 200
CASES = [(0.02, None), (0.1, None), (0.1, "y2")]


def largest(c, b, g, always):
    """Return the largest value of c . P / b . P by an own program over all who may be anything."""
    n = COUNTS.sum() + REFUSALS
    r, q = REFUSALS / n, COUNTS / n
    ones, zeros = np.ones(4), np.zeros(4)
    # Variables: answers of followers, of deviators, of those who refuse, reports of deviators; and a scale.
    equal = [[*np.hstack([MATRIX[:, y], zeros, zeros, np.eye(4)[y]]), -q[y]] for y in range(4)] + [
        [*zeros, *ones, *zeros, *-ones, 0.0],
        [*zeros, *zeros, *ones, *zeros, -r],
        [*b, *b, *b, *zeros, 0.0],
    ]
    upper = [[*zeros, *zeros, *zeros, *ones, -g * (1.0 - r)]]
    if always is not None:
        others = np.array([f"y{y + 1}" != always for y in range(4)], dtype=float)
        equal.append([*zeros, *zeros, *zeros, *others, 0.0])
    right = np.zeros(len(equal))
    right[6] = 1.0
    found = linprog(-np.array([*c, *c, *c, *zeros, 0.0]), A_ub=upper, b_ub=[0.0], A_eq=equal, b_eq=right)
    return -found.fun


@pytest.mark.parametrize(("g", "always"), CASES)
def test_bounds_of_everybody_are_sharp(g, always):
    fit = DeviatingReports(PRIVATE, COUNTS, g, everybody=True, always=always, refusals=REFUSALS)
    ones, cells = np.ones(4), np.eye(4)
    asked = [(c, ones, fit.bounds(c)) for c in fit.vectors]
    for place in range(4):
        given = cells[place % 2] + cells[place % 2 + 2]
        asked.append((cells[place], given, fit.rate_bounds(cells[place], given)))
    for above, below, (least, most) in asked:
        assert most == pytest.approx(largest(above, below, g, always), abs=1e-7)
        assert least == pytest.approx(1.0 - largest(below - above, below, g, always), abs=1e-7)


def test_intervals_cover_everybody_if_only_the_ill_refuse():
    truth = np.array([0.3, 0.2, 0.2, 0.3])
    rng, covered = np.random.default_rng(3), []
    for _ in range(40):
        answers = rng.choice(4, 1_000, p=truth)
        refuses = (answers >= 2) & (rng.random(1_000) < 0.4)
        reports = (MATRIX[answers[~refuses]].cumsum(axis=1) < rng.random((int((~refuses).sum()), 1))).sum(
            axis=1
        )
        counts = np.bincount(reports, minlength=4)
        fit = DeviatingReports(PRIVATE, counts, 0.0, everybody=True, refusals=int(refuses.sum()))
        rows = fit.distribution(0.95, simultaneous=False).frequencies
        covered += [row.low <= p <= row.high for row, p in zip(rows[:4], truth, strict=True)]
    assert np.mean(covered) >= 0.95


def test_without_refusals_nothing_changes_and_those_who_follow_are_the_same():
    for everybody in (False, True):
        ends = []
        for n in (0, REFUSALS):
            fit = DeviatingReports(PRIVATE, COUNTS, 0.05, everybody=everybody, refusals=n)
            rows = fit.distribution(0.95, simultaneous=False).frequencies
            ends.append(
                [(row.low, row.high, *fit.bounds(c)) for row, c in zip(rows, fit.vectors, strict=True)]
            )
        assert (ends[0] == ends[1]) == (not everybody)


def test_people_with_an_empty_report_have_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = "channel --values v=no,yes --design warner --p 0.7 --out c.json --quiet"
    assert main(made.split()) == 0
    rows = ["id,report", *(f"p{i},{['yes', 'no', 'no'][i % 3]}" for i in range(300))]
    rows += [f"p{i}," for i in range(290, 330)]
    (tmp_path / "r.csv").write_text("\n".join(rows) + "\n")
    assert count_refusals(tmp_path / "r.csv", person="id") == 30
    assert count_refusals(tmp_path / "r.csv") == 40
    call = "estimate --channel c.json --data r.csv --id id --refusals --deviating 0.05"
    assert main(call.split()) == 0
    said = capsys.readouterr()
    assert "30 who gave no report" in " ".join(said.out.split())
    assert "left out" not in said.err
    with pytest.raises(SystemExit):
        main(call.split()[:-2])
    assert "--refusals has no effect without --deviating" in capsys.readouterr().err
