"""Pictures of channels."""

import numpy as np

from ldpfrontier.survey import CountTable, design_channel
from ldpfrontier.survey.pictures import channel_picture, draw
from papers.frontier import atlas_figures
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
