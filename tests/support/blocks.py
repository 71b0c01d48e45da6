"""Random blocks, and their functions and means by slow and simple means."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from ldpfrontier.engines.over_set.majorant import Majorant
from ldpfrontier.engines.products.geometry.ball_body import Body
from ldpfrontier.uncertainty.divergence import least_mean


def random_body(seed: int, order: float, letters: int = 4) -> tuple[Body, np.ndarray]:
    """A random body, and duals near which vertices compete."""
    rng = np.random.default_rng(seed)
    r = rng.dirichlet(np.ones(letters))
    p, radius, epsilon = rng.uniform(0.05, 0.9), 10 ** rng.uniform(-3, -0.5), rng.uniform(0.1, 2.5)
    body = Body(r, radius, order, p * r, epsilon, scale=float(np.exp(-rng.uniform(0, 0.5))))
    return body, p * r * rng.uniform(0.5, 2.5, letters)


def extreme_means(body: Body, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A and B of vectors in folded letters, shape (m, letters)."""
    r, radius = np.broadcast_to(body.centre, w.shape), np.full(len(w), body.radius)
    return -least_mean(r, -w, radius, body.order), least_mean(r, w, radius, body.order)


def function_values(body: Body, w: np.ndarray, duals: np.ndarray) -> np.ndarray:
    """f = g - duals . w of vectors in folded letters."""
    return np.asarray(xlogy(w, w) @ body.prior - w @ body.fold(duals))


def random_majorant(rng: np.random.Generator, pieces: int, knots: int) -> Majorant:
    """A random majorant with so many pieces, the last without end."""
    t = np.sort(np.concatenate([[0.0, 1.0], rng.uniform(0.1, 0.9, knots - 2)])) if knots > 1 else np.zeros(1)
    low = np.sort(rng.uniform(0.3, 3.0, pieces))
    low[0] = 0.0
    return Majorant.of(
        t,
        low,
        np.append(low[1:] * rng.uniform(1.0, 1.5, pieces - 1), np.inf),
        -rng.uniform(0.0, 0.3, (pieces, knots)),
        rng.uniform(0.5, 2.0, (pieces, knots)),
        rng.uniform(-1.0, 0.5, (pieces, knots)),
    )
