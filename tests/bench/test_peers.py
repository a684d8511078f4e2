"""The comparison with peers: what it measures is judged right, kept whole, and written where the page has a place."""

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from bench.peers import compare, environment, worker, workload
from bench.peers.environment import NotInstalled, Peer
from bench.peers.figures import figures_of
from bench.peers.judge import judge_counts, judge_marginals, roll_up_gap, scaled_seconds
from bench.peers.outcome import Attempt, Comparison, Counts, Marginals, Noise
from bench.peers.page import BLOCKS, PAGE, agreement, write_page
from bench.peers.workload import Table
from tests.patience import PATIENCE, wait_until

SMALL = Table(("a", "b", "c"), (2, 3, 2), np.random.default_rng(1).integers(0, 2, (50, 3)).astype(np.int32))
FLOOR = Peer("numpy_floor", "NumPy")
CUBE = Marginals(
    wanted=8,
    finished=8,
    seconds=0.5,
    scaled_seconds=None,
    peak_bytes=10**8,
    cells=36,
    answered_cells=36,
    mean_error=2.5,
    people_error=2.75,
    max_error=7.0,
    roll_up_gap=0.0,
)
UNFINISHED = replace(CUBE, finished=3, seconds=120.0, scaled_seconds=3000.0, roll_up_gap=None, mean_error=10.0)
COUNTS = Counts(200, 0.004, 0.009, 201.0, 10**8, "answered, relaxed", "on disk")
COMPARISON = Comparison(
    machine="2 cores",
    date="2026-11-15",
    limit_seconds=120,
    people=1000,
    attempts=(
        Attempt(
            "Discreet",
            "0.1.0",
            {"noise": Noise(10**6, 0.02, 10.0, "integers"), "pairs": CUBE, "cuboids": CUBE, "counts": COUNTS},
            {},
        ),
        Attempt("Slow", "3.2", {"cuboids": UNFINISHED}, {"counts": "ended after 120 s"}),
        Attempt("Stuck", "1", {"cuboids": replace(UNFINISHED, finished=2)}, {"cuboids": "ended after 210 s"}),
        Attempt("SmartNoise SQL", "1.0", {"counts": replace(COUNTS, median_seconds=0.16)}, {}),
        Attempt("Absent", "", {}, {"noise": "does not install: no such package"}),
    ),
)


def cuboids() -> dict[int, np.ndarray]:
    return {mask: SMALL.counted(mask).astype(float) for mask in range(8)}


def test_a_cuboid_counts_the_rows_by_the_columns_of_its_mask():
    expected, _ = np.histogramdd(SMALL.rows[:, [0, 2]], bins=[np.arange(3), np.arange(3)])
    assert (SMALL.counted(0b101) == expected).all()
    assert SMALL.counted(0) == 50
    assert workload.pairs(SMALL) == [0b011, 0b101, 0b110]
    assert sorted(workload.all_cuboids(SMALL)) == list(range(8))
    assert SMALL.code_grid(0b101).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_a_table_is_loaded_as_it_was_saved(tmp_path):
    SMALL.save(tmp_path / "small.npz")
    loaded = Table.load(tmp_path / "small.npz")
    assert (loaded.names, loaded.sizes) == (SMALL.names, SMALL.sizes)
    assert (loaded.rows == SMALL.rows).all()


def test_the_questions_are_many_different_and_share_people():
    asked = list(workload.questions())
    assert len(set(asked)) == len(asked) >= 2 * workload.QUESTIONS
    assert all(question.youngest <= 45 <= question.oldest and question.income < 8 for question in asked)


def test_exact_cuboids_agree_and_a_cell_that_is_off_shows():
    found = cuboids()
    assert roll_up_gap(SMALL, found) == 0
    found[0b011][0, 0] += 3
    assert roll_up_gap(SMALL, found) == 3
    # Pairs share single dimensions only: summed away, they are compared all the same.
    assert roll_up_gap(SMALL, {mask: found[mask] for mask in (0b011, 0b101)}) == 3
    assert roll_up_gap(SMALL, {0b011: found[0b011]}) is None


def test_errors_are_to_the_truth_and_a_missing_cell_counts_as_nobody(tmp_path):
    found = cuboids()
    found[0] += 8
    missing = float(found[0b001][0])
    found[0b001][0] = np.nan
    for mask, cells in found.items():
        np.save(tmp_path / f"{mask}.npy", cells)
    lines = [{"mask": mask, "seconds": 0.25, "peak_bytes": 1000 + mask} for mask in found]
    judged = judge_marginals(SMALL, range(8), lines, tmp_path)
    assert judged.mean_error == pytest.approx((8 + missing / 2) / 8)
    assert judged.max_error == max(8, missing)
    assert (judged.cells, judged.answered_cells, judged.complete) == (36, 35, False)
    assert (judged.seconds, judged.whole_seconds, judged.peak_bytes) == (2.0, 2.0, 1007)
    assert not judged.consistent


def test_time_is_scaled_up_by_cuboids_and_cells_only_where_enough_was_done():
    wide = Table(tuple("abcd"), (2, 3, 4, 5), np.zeros((1, 4), np.int32))
    taken = {mask: 0.5 + 0.01 * wide.cells(mask) for mask in range(16)}
    half = {mask: taken[mask] for mask in range(10)}
    assert scaled_seconds(wide, range(16), half) == pytest.approx(sum(taken.values()))
    assert scaled_seconds(wide, range(16), taken) is None
    assert scaled_seconds(wide, range(16), {mask: taken[mask] for mask in range(3)}) is None


def test_the_first_questions_are_not_in_the_median():
    seconds = [9.0, 9.0, 9.0, 1.0, 2.0, 3.0]
    lines = [{"seconds": taken, "error": 4.0, "kind": ""} for taken in seconds]
    judged = judge_counts([*lines, {"peak_bytes": 5}, {"after": "refused (Gone)", "budget": "in memory"}])
    assert (judged.asked, judged.median_seconds, judged.slowest_seconds) == (6, 2.0, 3.0)
    assert (judged.mean_error, judged.after) == (4.0, "refused (Gone)")


def test_a_comparison_is_loaded_as_it_was_saved(tmp_path):
    COMPARISON.save(tmp_path / "out" / "comparison.json")
    assert Comparison.load(tmp_path / "out" / "comparison.json") == COMPARISON


def test_the_page_gets_its_tables_and_keeps_its_text(tmp_path):
    page = tmp_path / "peers.md"
    places = "\n".join(f"before {name}\n<!-- {name} -->\nold\n<!-- end {name} -->" for name in BLOCKS)
    page.write_text(places + "\nthe end\n")
    write_page(COMPARISON, page)
    text = page.read_text()
    assert "old" not in text
    assert all(f"before {name}\n<!-- {name} -->\n" in text for name in BLOCKS)
    assert text.endswith("the end\n")
    assert "| Slow | unfinished: 3 of 8 in 120 s; scaled up ≈ 3,000 s |" in text
    assert "| Stuck | unfinished: 2 of 8 in 120 s; ended after 210 s |" in text
    assert "| Discreet | 4 ms | 9 ms | 200 | 201 | 100 MB | on disk | answered, relaxed |" in text
    assert "Absent, noise: does not install: no such package." in text
    write_page(COMPARISON, page)
    assert page.read_text() == text


def test_a_page_without_a_place_for_a_table_is_refused(tmp_path):
    page = tmp_path / "peers.md"
    page.write_text("<!-- run -->\n<!-- end run -->\n")
    with pytest.raises(ValueError, match="no place, or more than one, for noise"):
        write_page(COMPARISON, page)
    assert all(PAGE.read_text(encoding="utf-8").count(f"<!-- {name} -->") == 1 for name in BLOCKS)


@pytest.mark.parametrize(
    ("gap", "answered", "told"),
    [
        (0.0, 36, "yes"),
        (12.0, 36, "no: off by up to 12"),
        (12.0, 30, "no: off by up to 12; 30 of 36 cells answered"),
        (0.0, 2, "nothing to compare; 2 of 36 cells answered"),
        (None, 36, "nothing to compare"),
    ],
)
def test_roll_ups_agree_only_where_cells_were_answered(gap, answered, told):
    assert agreement(replace(CUBE, roll_up_gap=gap, answered_cells=answered)) == told


def test_figures_are_beside_peers_that_are_there():
    figures = {figure.name: figure for figure in figures_of(COMPARISON)}
    assert figures["all 256 cuboids of Adult: error, to the best peer's"].value == 0.25
    assert figures["all 256 cuboids of Adult: the quickest peer's time to ours"].value == 6000
    assert figures["a count in SQL, 1,000,000 rows: SmartNoise SQL's time to ours"].value == pytest.approx(40)
    assert not any(name.startswith("all 2-way") and "peer" in name for name in figures)


BEYOND = 1e-9
"""By Chernoff: the mean of the errors of 8 cuboids is below 1 or above 40. And 10^5 draws are off by 6.3 deviations."""


@pytest.mark.alarm(BEYOND)
def test_a_peer_runs_in_a_process_of_its_own_and_is_judged(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "OUT", tmp_path)
    tables = compare.Tables(SMALL, workload.people(2000))
    told: list[str] = []
    absent = Peer("numpy_floor", "Absent", ("no-such-package",), ("noise",))
    broken = Peer("no_such_tool", "Broken", (), ("noise",))

    def refuse(*_: object) -> None:
        raise NotInstalled("there is none")

    monkeypatch.setattr(environment, "install", refuse)
    monkeypatch.setattr(environment.venv, "create", lambda *_, **__: None)
    peers = [replace(FLOOR, tasks=("cuboids", "counts")), absent, broken]
    found = compare.compare(peers, tables, PATIENCE, told.append)
    floor, missing, failed = found.attempts
    assert floor.version == np.__version__
    assert floor.outcomes["cuboids"].finished == 8
    assert 1 < floor.outcomes["cuboids"].mean_error < 40  # the noise has scale 8
    assert not floor.outcomes["cuboids"].consistent
    assert floor.outcomes["counts"].asked == workload.QUESTIONS
    assert floor.outcomes["counts"].after == "answered all the same"
    assert missing.failures == {"noise": "does not install: there is none"}
    assert "no_such_tool" in failed.failures["noise"]
    assert "NumPy: counts" in told


def test_a_worker_that_does_not_end_is_ended_and_keeps_what_it_did(tmp_path, monkeypatch):
    tool = tmp_path / "bench" / "peers"
    tool.mkdir(parents=True)
    for package in (tool.parent, tool):
        (package / "__init__.py").touch()
    (tool / "worker.py").write_text(
        "import time\nprint('{\"mask\": 0}', flush=True)\nprint('{\"ma', end='', flush=True)\ntime.sleep(60)\n"
    )
    monkeypatch.setattr(compare, "ROOT", tmp_path)
    monkeypatch.setattr(compare, "GRACE_SECONDS", 0.5)
    folder = tmp_path / "run"
    folder.mkdir()
    ended = compare.ended

    def ended_after_it_began(begun, limit_seconds):
        wait_until(lambda: "ma" in (folder / "lines").read_text().partition("\n")[2])
        return ended(begun, limit_seconds)

    monkeypatch.setattr(compare, "ended", ended_after_it_began)
    lines, said = compare.run(FLOOR, environment.interpreter(FLOOR), "cuboids", tmp_path, folder, 0.5)
    assert lines == [{"mask": 0}]
    assert said == "ended after 1 s"


def test_our_own_cuboids_are_consistent_and_our_own_answers_relaxed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tool = import_module("bench.peers.tools.discreet_vault")
    found = dict(tool.marginals(SMALL, workload.all_cuboids(SMALL), 1.0))
    assert sorted(found) == list(range(8))
    assert roll_up_gap(SMALL, found) < 1e-9
    assert worker.budget_gone(tool, workload.people(2000)) == "answered, relaxed"


@pytest.mark.alarm(BEYOND)
def test_draws_have_the_size_that_was_asked_for(monkeypatch, tmp_path):
    monkeypatch.setattr(worker, "DRAWS", 10**5)
    for name in ("numpy_floor", "discreet_vault"):
        [line] = worker.noise(import_module(f"bench.peers.tools.{name}"), tmp_path, tmp_path, PATIENCE)
        # The mean of |noise| is the scale.
        assert line["mean_size"] == pytest.approx(workload.NOISE_SCALE, abs=0.2)
        assert json.loads(json.dumps(line)) == line


def test_peak_memory_is_at_least_what_this_process_has():
    status = Path("/proc/self/status").read_text()
    peak = next(1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    assert worker.peak_bytes() >= peak
