"""What the picture of a certificate shows: bounds that no block exceeds, so that no column exceeds theirs."""

import math

import numpy as np
from scipy.special import xlogy

from support.programs import program


def test_the_bounds_hold_and_two_classes_say_more_than_one():
    draw = program("tools/draw_certificate.py")
    ball, vertices = draw.example()
    c = draw.prices(ball.centre, *vertices)
    blocks = [draw.Points.of(*own) for own in zip(vertices, ball.centre, c, strict=True)]
    bounds = [draw.piece(blocks, 0.0, draw.SPLIT), draw.piece(blocks, draw.SPLIT, math.inf)]
    (z, f), (x, g) = (points.vertices for points in blocks)
    Z, total, largest = (
        op.outer(*own).ravel() for op, own in ((np.add, (z, x)), (np.add, (f, g)), (np.maximum, (z, x)))
    )
    for bound in bounds:
        own = (bound.low < largest) & (largest <= bound.high)
        assert (total - xlogy(Z, Z) <= bound.kappa * Z + 1e-9)[own].all()
    vertices_alone = [points._replace(split=np.zeros_like(points.split)) for points in blocks]
    single = draw.piece(vertices_alone, 0.0, math.inf).kappa
    said = max(bound.kappa for bound in bounds)
    assert (round(single, 3), round(said, 3), round(c.sum(), 3)) == (0.052, 0.008, 1.443)
