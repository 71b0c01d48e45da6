"""What a PNG says of the data that it shows, and in what two of them differ."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from reproduction.drawn_data import data_of, difference, drawn_data
from reproduction.figure_style import save, style

LEVELS = np.array([0.1, 1.0, 2.0, 5.0])


def drawn(curve=1.0, area=1.0, shades=1.0, scatter=1.0, reach=5.0, word="best", scale="linear", **fonts):
    """Return a figure with a curve, a band, points, a bar and a picture of shades."""
    with style():
        figure = Figure(figsize=(5, 2))
        left, right = figure.subplots(1, 2)
        left.plot(LEVELS, curve * np.sqrt(LEVELS), label="optimum")
        left.plot(LEVELS, [1.0, np.nan, 1.0, 2.0], ":", label="bound")
        left.fill_between(LEVELS, 0.2 * area, 0.3 * LEVELS)
        left.scatter(LEVELS, scatter / LEVELS)
        left.set(xlim=(0, reach), ylim=(0.01, 4), yscale=scale, title="Levels")
        left.text(1, 1, f"{word} by 2.6%, 59 of 72", **fonts)
        right.imshow(shades * np.array([[0.1, 0.2], [0.5, 0.9]]), vmin=0, vmax=1)
    return figure


BASE = drawn_data(drawn())


def test_the_data_lie_in_the_picture(tmp_path):
    save(drawn(), tmp_path / "one.png", comment=BASE)
    save(drawn(), tmp_path / "other.png", comment=drawn_data(drawn()))
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "other.png").read_bytes()
    assert data_of(tmp_path / "one.png") == BASE
    save(drawn(), tmp_path / "none.png")
    assert data_of(tmp_path / "none.png") is None
    assert (imread(tmp_path / "one.png") == imread(tmp_path / "none.png")).all()
    (tmp_path / "empty.png").touch()
    assert data_of(tmp_path / "empty.png") is None


def test_positions_are_shares_of_the_axes():
    left, right = json.loads(BASE)
    assert left["texts"] == ["Levels", "best by 2.6%, 59 of 72"]
    assert left["limits"] == [0.0, 0.01, 5.0, 4.0]
    curve = np.reshape(left["drawn"]["0 Line2D optimum"], (-1, 2))
    assert curve == pytest.approx(np.stack([LEVELS / 5, (np.sqrt(LEVELS) - 0.01) / 3.99]).T, abs=1e-4)
    assert left["drawn"]["1 Line2D bound"][3] is None
    assert right["drawn"]["0 AxesImage _child0"] == [0.1, 0.2, 0.5, 0.9]


@pytest.mark.parametrize(
    "change",
    [
        *({name: 1 + 1e-7} for name in ("curve", "area", "shades", "scatter")),
        {"reach": 5.0001},
        {"fontsize": 14},
        {"fontfamily": "monospace"},
    ],
    ids=str,
)
def test_last_digits_and_other_letters_are_no_difference(change):
    assert difference(BASE, drawn_data(drawn(**change))) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"curve": 1.02}, "0 Line2D optimum of axes 1, by 0.011 of the axes"),
        ({"area": 1.2}, "2 FillBetweenPolyCollection"),
        ({"scatter": 1.02}, "3 PathCollection"),
        ({"shades": 1.01}, "0 AxesImage _child0 of axes 2, by 0.009"),
        ({"reach": 5.1}, "the limits of axes 1"),
        ({"scale": "log"}, "the limits of axes 1"),
        ({"word": "worst"}, "the texts 'best by 2.6%, 59 of 72' and 'worst by 2.6%, 59 of 72' of axes 1"),
        ({"word": "best by 1, best"}, "the texts 'best by 2.6%, 59 of 72' and 'best by 1, best by 2.6%,"),
    ],
    ids=str,
)
def test_what_a_reader_would_see_is_a_difference(change, said):
    assert difference(BASE, drawn_data(drawn(**change))).startswith(said)


def test_numbers_in_texts_may_differ_by_a_last_digit():
    def changed(text):
        return BASE.replace("best by 2.6%, 59 of 72", text)

    assert difference(BASE, changed("best by 2.7%, 59 of 72")) == ""
    assert difference(BASE, changed("best by 2.8%, 59 of 72"))
    assert difference(BASE, changed("best by 2.6%, 60 of 72"))


def test_another_number_of_curves_or_axes_is_a_difference():
    fewer = drawn()
    fewer.axes[0].lines[1].remove()
    assert difference(BASE, drawn_data(fewer)) == "what axes 1 contain"
    fewer.axes[1].remove()
    assert difference(BASE, drawn_data(fewer)) == "2 and 1 axes"


def test_an_inset_belongs_to_the_data():
    figures = [drawn(), drawn()]
    for figure, value in zip(figures, (1.0, 2.0), strict=True):
        figure.axes[0].inset_axes([0.1, 0.6, 0.3, 0.3]).plot([0.0, 1.0, 2.0], [0.0, value, 3.0])
    one, other = map(drawn_data, figures)
    assert difference(one, other).startswith("0 Line2D _child0 of axes 2, by")


@pytest.mark.parametrize("projection", ["polar", "3d"])
def test_figures_of_other_kinds_have_data_too(projection):
    figure = Figure()
    axes = figure.add_subplot(projection=projection)
    axes.plot(LEVELS, LEVELS)
    axes.scatter(LEVELS, LEVELS)
    axes.plot([], [])
    assert difference(drawn_data(figure), drawn_data(figure)) == ""
