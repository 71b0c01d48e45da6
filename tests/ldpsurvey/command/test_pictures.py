"""Pictures of channels."""

import warnings

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.ttLib.tables._g_l_y_f import Glyph
from matplotlib import font_manager

from beyond import atlas_figures
from ldpsurvey import CountTable, design_channel
from ldpsurvey.base.layout import Remark
from ldpsurvey.command.pictures import channel_picture, draw
from reproduction.figure_style import SHADES


def test_a_number_has_the_same_colour_in_channels_and_in_the_atlas(tmp_path):
    table = CountTable(("s",), ("u",), (("a",), ("b",)), (("c",), ("d",)), np.array([[60, 20], [20, 50]]))
    design = design_channel(table, 1.0, against="outsider", mechanisms=["srr"])
    private = design.private(design.best("information"))
    figure = channel_picture(private)
    (image,) = figure.axes[0].images
    np.testing.assert_array_equal(image.get_array(), private.channel.matrix)
    assert atlas_figures.SHADES == image.get_cmap().name == SHADES
    # From 0 to 1, whatever the matrix contains; the lighter, the more likely.
    assert (image.norm.vmin, image.norm.vmax) == (0.0, 1.0)
    brightness = image.get_cmap()(image.norm([0.0, 0.3, 1.0]))[:, :3].sum(axis=1)
    assert (np.diff(brightness) > 0).all()
    assert figure.axes[1].get_ylabel() == "probability, from 0 (dark) to 1 (yellow)"
    draw(figure, tmp_path / "channel.svg")


def font_with(letters, path):
    """Write a font that has some letters, all of them empty."""
    names = [".notdef", *(f"g{ord(letter):x}" for letter in letters)]
    made = FontBuilder(1000)
    made.setupGlyphOrder(names)
    made.setupCharacterMap({ord(letter): name for letter, name in zip(letters, names[1:], strict=True)})
    made.setupGlyf({name: Glyph() for name in names})
    made.setupHorizontalMetrics(dict.fromkeys(names, (500, 0)))
    made.setupHorizontalHeader(ascent=800, descent=-200)
    made.setupNameTable({"familyName": "A Font Of Somebody", "styleName": "Regular"})
    made.setupOS2()
    made.setupPost()
    made.save(path)


def test_letters_come_from_any_font_that_is_installed_and_what_none_has_is_named(tmp_path, monkeypatch):
    table = CountTable(("問",), (), (("質é",), ("答",)), ((),), np.array([[60], [20]]))
    design = design_channel(table, 1.0, mechanisms=["grr"])
    figure = channel_picture(design.private(design.best()))
    plain = [font for font in font_manager.fontManager.ttflist if "matplotlib" in font.fname]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", plain)
    with pytest.warns(Remark) as caught:
        draw(figure, tmp_path / "boxes.svg")
    assert [str(one.message).split("letters ")[1].split(", ")[0] for one in caught] == ["問 答 質"]
    font_with("問質答", tmp_path / "own.ttf")
    font_manager.fontManager.addfont(tmp_path / "own.ttf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(figure, tmp_path / "letters.svg")
