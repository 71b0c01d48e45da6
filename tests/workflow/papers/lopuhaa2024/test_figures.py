"""The figures of lopuhaa2024 show what is in their tables."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from papers.lopuhaa2024 import figures, panels, summaries
from papers.lopuhaa2024.catalogue import MECHANISMS
from papers.lopuhaa2024.panels import LOOKS, NMI
from reproduction.figure_style import PAGE_WIDTH, save, style
from reproduction.results.tables import RESULTS, Result, select
from support.mechanisms import fig2_of

COUNTS = np.array([[30, 10], [20, 40]])


@pytest.fixture(scope="module")
def table():
    sweeps = [
        fig2_of(counts, [0.5, 1.0, 2.0], instance=f"a, {name}", mechanisms=["nr", "ir", "srr", "grr"])
        for name, counts in {"b": np.hstack([COUNTS, COUNTS + 3]), "c": COUNTS, "d": COUNTS + 7}.items()
    ]
    return RESULTS.conform(pd.concat(sweeps))


def study(beta=0.05):
    """Random numbers in the place of the synthetic study: every mechanism on six tables of two sizes."""
    rng = np.random.default_rng(0)
    rows = []
    for size in ("2 x 3", "3 x 2"):
        for i in range(6):
            for name in MECHANISMS:
                for epsilon in (0.3, 1.5):
                    place = {"size": size, "beta": beta, "order": 2.0, "epsilon": epsilon}
                    nmi = rng.uniform(0.1, 0.5) + (0.5 if epsilon > 1.0 else 0.0)
                    leak, lost = epsilon * rng.uniform(0.5, 2), rng.normal()
                    bounded = {"direction": "max", "bound": nmi, "status": "bounded"}
                    for metric, value, unit, more in (
                        ("nmi", nmi, "1", bounded),
                        ("realized_epsilon", leak, "nats", {}),
                        ("utility_difference", lost, "1", {}),
                    ):
                        rows.append(
                            Result(
                                "lopuhaa2024",
                                "synthetic",
                                f"{i:03d}",
                                name,
                                metric,
                                value,
                                unit=unit,
                                **place,
                                **more,
                            )
                        )
    return RESULTS.table(rows)


@pytest.fixture(scope="module")
def usual():
    return study()


# Figure 2


def test_panels_are_titled_by_pair_and_size_small_tables_first(table):
    figure = figures.fig2(table)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["(a) a, c (2 × 2)", "(b) a, d (2 × 2)", "(c) a, b (2 × 4)", ""]
    assert figure.get_supylabel() == NMI
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["NR (not robust)", "IR", "SRR", "GRR"]


def outside(figure) -> float:
    """Return how far something sticks out of a figure, in inches."""
    with style():
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        box, (width, height) = figure.get_tightbbox(canvas.get_renderer()), figure.get_size_inches()
    return max(-box.x0, -box.y0, box.x1 - width, box.y1 - height)


@pytest.mark.parametrize("pairs", [1, 2])
@pytest.mark.parametrize(
    "instance",
    ["t: $a_$, u", "town: how often have you seen a physician, region of residence and age"],
)
def test_legends_and_titles_fit_into_the_figure(table, monkeypatch, pairs, instance):
    srr = select(table, mechanism="srr", instance="a, c", metric="nmi")
    names = ["nr", "polyopt", "ir", "ir_tight", "srr", "grr"]
    rows = [srr.assign(mechanism=name, bound=srr["value"] + 0.01) for name in names]
    own = pd.concat([pd.concat(rows).assign(instance=f"{i}{instance}") for i in range(pairs)])
    figure = figures.own_fig2(own)
    assert len(figure.legends[0].get_texts()) == len(names)
    assert outside(figure) <= 0
    assert figure.get_size_inches()[0] <= PAGE_WIDTH
    if pairs == 2 and len(instance) > 20:
        # A mechanism of the user's own may have a name that is wider than half a page, or than a page.
        for label in ("My own mechanism, which has a name that is as long as a sentence is", "m" * 100):
            monkeypatch.setitem(panels.LOOKS, "srr", replace(LOOKS["srr"], label=label))
            assert outside(figures.own_fig2(own)) <= 0


def test_curves_are_the_values_of_the_table(table):
    ax = figures.fig2(table).axes[0]
    shown = {line.get_label(): line.get_ydata() for line in ax.lines}
    rows = table[(table["instance"] == "a, c") & (table["metric"] == "nmi")]
    for name in ("nr", "ir", "srr", "grr"):
        expected = rows[rows["mechanism"] == name].sort_values("epsilon")["value"]
        np.testing.assert_array_equal(shown[LOOKS[name].label], expected)
    # Most of what there is to see is at low levels.
    assert ax.get_xscale() == "log"
    one = select(table, epsilon=1.0)
    assert figures.fig2(one).axes[0].get_xscale() == "linear"


@pytest.mark.parametrize("suffix", ["pdf", "svg", "png"])
def test_equal_figures_give_equal_bytes(table, tmp_path, suffix):
    one_panel = select(table, instance="a, c")
    for name in ("one", "two"):
        save(figures.fig2(one_panel), tmp_path / f"{name}.{suffix}", dpi=60)
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


def test_figures(usual, tmp_path):
    plots = {
        "fig3": figures.fig3(summaries.fig3(usual)),
        "fig4": figures.fig4(summaries.fig4(usual)),
        "fig5": figures.fig5(usual, 1.5),
    }
    for name in ("fig3", "fig4", "fig5"):
        titles = [ax.get_title(loc="left") for ax in plots[name].axes]
        assert titles == ["(a) 2 × 3", "(b) 3 × 2"]
    ax = plots["fig3"].axes[0]
    means = summaries.fig3(usual).query("size == '2 x 3' and mechanism == 'nr'")["mean"]
    line = next(line for line in ax.lines if line.get_label() == LOOKS["nr"].label)
    np.testing.assert_array_equal(line.get_ydata(), means)
    panel = plots["fig4"].axes[0]
    levels = summaries.fig4(usual).query("size == '2 x 3' and mechanism == 'nr'")
    drawn = [line.get_ydata().tolist() for line in panel.lines if line.get_label() == LOOKS["nr"].label]
    assert drawn == [levels["low"].tolist(), levels["high"].tolist()]
    # Quartiles of a few tables are not a band.
    assert len(panel.collections) == 0
    # The same quantity on both axes: equality is the diagonal.
    assert (panel.lines[0].get_xy1(), panel.lines[0].get_xy2()) == ((1.0, 1.0), (2.0, 2.0))
    for name, figure in plots.items():
        save(figure, tmp_path / f"{name}.png", dpi=50)
        assert (tmp_path / f"{name}.png").stat().st_size > 5000


def test_means_over_fewer_tables_than_those_of_polyopt_are_not_shown(usual):
    fewer = (usual["mechanism"] == "nr") & (usual["instance"] == "000")
    figure = figures.fig3(summaries.fig3(usual[~fewer]))
    labels = [{line.get_label() for line in ax.lines} for ax in figure.axes]
    assert usual[fewer].size > 0
    assert all(LOOKS["nr"].label not in found for found in labels)
    assert all(LOOKS["polyopt"].label in found for found in labels)
