"""Exact noise beside NumPy's floats, which are not private, and OpenDP's exact sampler, on one core."""

from collections.abc import Callable, Iterator, Sized

import numpy as np
import opendp.prelude as dp

from bench.figure import Figure, race
from discreet.noise.binomial import sample_binomial
from discreet.noise.bits import Bits
from discreet.noise.gaussian import sample_gaussian
from discreet.noise.laplace import sample_laplace

DRAWS = 10**7
PEER_INPUT = [0] * 50_000  # OpenDP needs half a second for these


def figures() -> Iterator[Figure]:
    dp.enable_features("contrib")
    bits = Bits()
    sample_laplace(1, 1, bits), sample_gaussian(1, 1, bits), sample_binomial(10**6, 1, bits)  # compile, or load
    for scale in (1, 100, 2000):
        yield from laplace_figures(scale, bits)
    yield single_draw_figure(bits)
    yield gaussian_figure(bits)
    yield binomial_figure(bits)


def laplace_figures(scale: int, bits: Bits) -> Iterator[Figure]:
    rng = np.random.default_rng(1)
    peer = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=float(scale))
    ours, floats, opendp = speeds(
        lambda: sample_laplace(scale, DRAWS, bits), lambda: rng.laplace(0, scale, DRAWS), lambda: peer(PEER_INPUT)
    )
    note = f"{ours / 1e6:.0f} M draws/s; NumPy {floats / 1e6:.0f} M, OpenDP {opendp / 1e6:.2f} M"
    yield Figure(f"Laplace, scale {scale}, to NumPy's floats", ours / floats, 0.5, "higher", "×", note)
    yield Figure(f"Laplace, scale {scale}, to OpenDP", ours / opendp, 150, "higher", "×", note)


def single_draw_figure(bits: Bits) -> Figure:
    (seconds,) = race(lambda: [sample_laplace(2000, 1, bits) for _ in range(1000)], repeats=5)
    return Figure("Laplace, one draw", seconds * 1000, 100, "lower", "µs", "scale 2000, warm")


def gaussian_figure(bits: Bits) -> Figure:
    rng = np.random.default_rng(1)
    peer = dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=50.0)
    ours, floats, opendp = speeds(
        lambda: sample_gaussian(2500, DRAWS, bits), lambda: rng.normal(0, 50, DRAWS), lambda: peer(PEER_INPUT)
    )
    note = f"{ours / 1e6:.0f} M draws/s; NumPy's floats {floats / 1e6:.0f} M, OpenDP {opendp / 1e6:.2f} M"
    return Figure("Gaussian, σ = 50, to OpenDP", ours / opendp, 50, "higher", "×", note)


def binomial_figure(bits: Bits) -> Figure:
    rng = np.random.default_rng(1)
    ours, inexact = speeds(lambda: sample_binomial(10**6, DRAWS, bits), lambda: rng.binomial(10**6, 0.5, DRAWS))
    note = f"{ours / 1e6:.0f} M draws/s; NumPy's, not exact, {inexact / 1e6:.0f} M"
    return Figure("Binomial, R = 10⁶, to NumPy's", ours / inexact, 1 / 3, "higher", "×", note)


def speeds(*samplers: Callable[[], Sized]) -> list[float]:
    """Draws a second of each."""
    sizes = [len(sampler()) for sampler in samplers]
    return [size / seconds for size, seconds in zip(sizes, race(*samplers, repeats=4), strict=True)]
