"""Exact noise beside NumPy's floats, which are not private, and OpenDP's exact sampler, on one core."""

from collections.abc import Iterator

import numpy as np
import opendp.prelude as dp

from bench.figure import Figure, best_seconds
from discreet.noise.bits import Bits
from discreet.noise.laplace import sample_laplace

DRAWS = 10**7
PEER_DRAWS = 10**5  # OpenDP needs a second for these


def figures() -> Iterator[Figure]:
    dp.enable_features("contrib")
    bits = Bits()
    sample_laplace(1, 1, bits)  # compiles, or loads the compiled loop
    for scale in (1, 100, 2000):
        yield from laplace_figures(scale, bits)
    yield single_draw_figure(bits)


def laplace_figures(scale: int, bits: Bits) -> Iterator[Figure]:
    rng = np.random.default_rng(1)
    peer = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=float(scale))
    zeros = [0] * PEER_DRAWS
    ours = DRAWS / best_seconds(lambda: sample_laplace(scale, DRAWS, bits), 5)
    floats = DRAWS / best_seconds(lambda: rng.laplace(0, scale, DRAWS), 5)
    opendp = PEER_DRAWS / best_seconds(lambda: peer(zeros), 2)
    note = f"{ours / 1e6:.0f} M draws/s; NumPy {floats / 1e6:.0f} M, OpenDP {opendp / 1e6:.2f} M"
    yield Figure(f"Laplace, scale {scale}, to NumPy's floats", ours / floats, 0.5, "higher", "×", note)
    yield Figure(f"Laplace, scale {scale}, to OpenDP", ours / opendp, 150, "higher", "×", note)


def single_draw_figure(bits: Bits) -> Figure:
    microseconds = best_seconds(lambda: [sample_laplace(2000, 1, bits) for _ in range(1000)], 5) * 1000
    return Figure("Laplace, one draw", microseconds, 100, "lower", "µs", "scale 2000, warm")
