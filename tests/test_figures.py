import numpy as np
import pandas as pd
import pytest

from ldpfrontier.papers.lopuhaa2024 import experiments as lopuhaa2024
from ldpfrontier.papers.lopuhaa2024.figures import fig2
from ldpfrontier.plotting import MECHANISMS, NMI, save

COUNTS = np.array([[30, 10], [20, 40]])


@pytest.fixture(scope="module")
def table():
    sweeps = [
        lopuhaa2024.adult_sweep(
            counts,
            [0.5, 1.0, 2.0],
            instance=lopuhaa2024.instance_name("a", name, counts.shape),
            mechanisms=["nr", "ir", "srr", "grr"],
        )
        for name, counts in {"b": np.hstack([COUNTS, COUNTS + 3]), "c": COUNTS, "d": COUNTS + 7}.items()
    ]
    return pd.concat(sweeps)


def test_panels_are_titled_by_pair_and_size_small_tables_first(table):
    figure = fig2(table)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["(a) a, c (2 × 2)", "(b) a, d (2 × 2)", "(c) a, b (2 × 4)", ""]
    assert figure.get_supylabel() == NMI
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["NR (not robust)", "IR", "SRR", "GRR"]


def test_curves_are_the_values_of_the_table(table):
    ax = fig2(table).axes[0]
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    rows = table[(table["instance"] == "a, c (2 x 2)") & (table["metric"] == "nmi")]
    for name in ("nr", "ir", "srr", "grr"):
        expected = rows[rows["mechanism"] == name].sort_values("epsilon")["value"]
        np.testing.assert_array_equal(drawn[MECHANISMS[name].label], expected)


def test_skipped_rows_leave_no_curve(table):
    skipped = table[table["mechanism"] == "grr"].assign(mechanism="polyopt", status="skipped", value=np.nan)
    figure = fig2(pd.concat([table, skipped]))
    assert "PolyOpt" not in [line.get_label() for line in figure.axes[0].lines]


@pytest.mark.parametrize("suffix", ["pdf", "svg", "png"])
def test_equal_figures_give_equal_bytes(table, tmp_path, suffix):
    for name in ("one", "two"):
        save(fig2(table), tmp_path / f"{name}.{suffix}", dpi=60)
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


def test_mechanisms_can_be_told_apart_without_colour():
    assert set(MECHANISMS) == set(lopuhaa2024.MECHANISMS)
    assert len({(look.marker, look.filled) for look in MECHANISMS.values()}) == len(MECHANISMS)
    assert len({look.colour for look in MECHANISMS.values()}) == len(MECHANISMS)
