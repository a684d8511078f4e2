"""Peers' models beside ours: judged by the same distance, and run once."""

import subprocess

import numpy as np

from bench.model_peers import compare
from bench.model_peers.compare import RUNS, distances, marginals_of, peer_figures, run_what_is_left
from bench.model_peers.kept import Found, Run, keep, kept, seconds_beside, variation_beside
from discreet.domain.attribute import Category
from discreet.domain.domain import Domain
from experiments.tables.tables import Coded

ROWS = np.array([[0, 0, 1], [1, 0, 0], [1, 1, 0], [0, 1, 1]])
TABLE = Coded(
    Domain("small", tuple(Category(name=name, source="made up", values=("no", "yes")) for name in "abc")), ROWS
)


def counted(rows):
    return {axes: np.histogramdd(rows[:, axes], bins=[[0, 1, 2]] * len(axes))[0] for axes in marginals_of(TABLE)}


def test_a_table_is_not_off_from_itself_and_another_by_the_share_that_is_elsewhere():
    assert distances(counted(ROWS), TABLE) == (0.0, 0.0)
    moved = ROWS.copy()
    moved[0] = [1, 1, 1]  # one of four rows, elsewhere in every pair but (a, b), where it joins another's cell
    assert distances(counted(moved), TABLE) == (0.25, 0.25)
    assert distances({axes: 10 * cells for axes, cells in counted(ROWS).items()}, TABLE) == (0.0, 0.0)


def test_what_was_run_is_kept_and_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr("bench.model_peers.kept.RESULTS", tmp_path / "results.json")
    ran = []

    def pretended(run: Run) -> Found:
        ran.append(run)
        if len(ran) == 3:
            raise KeyboardInterrupt
        versions = {"mbi": "1.0.0"}
        return Found(
            run, (0.2, 0.4), (0.3, 0.5), {"cpu_seconds": 1.0, "gigabytes": 1.0, "versions": versions, "date": ""}
        )

    monkeypatch.setattr(compare, "ran", pretended)
    try:
        run_what_is_left(lambda _: None)
    except KeyboardInterrupt:
        assert [found.run for found in kept()] == list(RUNS[:2])
    run_what_is_left(lambda _: None)
    assert [found.run for found in kept()] == list(RUNS)
    assert len(ran) == len(RUNS) + 1
    monkeypatch.setattr(compare, "ours", lambda *_: (0.1, 0.2))
    assert [figure.value for figure in peer_figures()] == [0.5] * 2 * len(RUNS)


def test_a_run_that_is_killed_is_told_of_and_the_next_one_begun(tmp_path, monkeypatch):
    monkeypatch.setattr("bench.model_peers.kept.RESULTS", tmp_path / "results.json")

    def killed(_: Run) -> Found:
        raise subprocess.CalledProcessError(-9, ["python"], "", "")

    monkeypatch.setattr(compare, "ran", killed)
    told: list[str] = []
    run_what_is_left(told.append)
    assert len(told) == len(RUNS)
    assert all("SIGKILL" in line for line in told)


def test_notes_name_each_tool_with_what_it_had_or_say_that_it_was_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr("bench.model_peers.kept.RESULTS", tmp_path / "results.json")
    keep(Found(Run("mst", "small", "1"), (0.2, 0.4), (0.3, 0.5), {"cpu_seconds": 12.4, "gigabytes": 1.0}))
    assert variation_beside("small", "1", 2) == "AIM was not run, MST 0.2000 and its rows 0.3000"
    assert variation_beside("small", "1", 3) == "AIM was not run, MST 0.4000 and its rows 0.5000"
    assert seconds_beside("small", "1") == "AIM was not run, MST 12 CPU s"
    assert seconds_beside("small", "10") == "AIM was not run, MST was not run"
