"""The comparison as figures with a bar, for `python -m bench`."""

from collections.abc import Iterator

from bench.figure import Figure
from bench.peers.compare import LIMIT_SECONDS, RESULTS, compare, tables
from bench.peers.environment import PEERS
from bench.peers.outcome import Comparison, Marginals
from bench.peers.page import seconds, write_page

OURS, FLOOR, OTHER_SQL = "Discreet", "NumPy, not private", "SmartNoise SQL"


def peer_figures() -> Iterator[Figure]:
    comparison = compare(PEERS, tables(), LIMIT_SECONDS, lambda _: None)
    comparison.save(RESULTS)
    write_page(comparison)
    return figures_of(comparison)


def figures_of(comparison: Comparison) -> Iterator[Figure]:
    """Ours beside the best of the peers at each task; a peer that is missing is not among them."""
    yield from cube_figures("all 2-way marginals of Adult", comparison, "pairs", error_bar=1)
    yield from cube_figures("all 256 cuboids of Adult", comparison, "cuboids", error_bar=0.5, time_bar=25)
    latencies = {attempt.title: 1e3 * found.median_seconds for attempt, found in comparison.of("counts")}
    note = ", ".join(f"{title} {latency:.3g} ms" for title, latency in latencies.items())
    if OTHER_SQL in latencies:
        ratio = latencies[OTHER_SQL] / latencies[OURS]
        yield Figure(f"a count in SQL, 1,000,000 rows: {OTHER_SQL}'s time to ours", ratio, 10, "higher", "×", note)


def cube_figures(
    name: str, comparison: Comparison, task: str, *, error_bar: float, time_bar: float | None = None
) -> Iterator[Figure]:
    """Errors beside peers that answer every cell. Where a few small tables are quicker elsewhere, there is no bar."""
    found: dict[str, Marginals] = {attempt.title: outcome for attempt, outcome in comparison.of(task)}
    ours = found[OURS]
    assert ours.roll_up_gap is not None
    yield Figure(f"{name}: roll-ups are off by", ours.roll_up_gap, 1e-6, "lower", "people")
    peers = {title: one for title, one in found.items() if not title.startswith(OURS) and title != FLOOR}
    errors = {title: one.mean_error for title, one in peers.items() if one.complete}
    if errors:
        note = f"mean error {ours.mean_error:.1f}; " + ", ".join(
            f"{title} {error:.1f}" for title, error in errors.items()
        )
        ratio = ours.mean_error / min(errors.values())
        yield Figure(f"{name}: error, to the best peer's", ratio, error_bar, "lower", "×", note)
    times = {title: one.whole_seconds for title, one in peers.items() if one.whole_seconds is not None}
    if times and time_bar is not None:
        note = f"{seconds(ours.seconds)}; " + ", ".join(f"{title} {seconds(taken)}" for title, taken in times.items())
        ratio = min(times.values()) / ours.seconds
        yield Figure(f"{name}: the quickest peer's time to ours", ratio, time_bar, "higher", "×", note)
