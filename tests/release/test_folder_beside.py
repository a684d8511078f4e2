"""A folder beside a place: gone at the end, and what a killed process left is cleared away by the next."""

import fcntl
import multiprocessing
import os
import signal
import tempfile
from pathlib import Path

import pytest

from discreet.release.folder_beside import folder_beside

FORK = multiprocessing.get_context("fork")


def test_it_is_private_on_the_same_disk_and_gone_at_the_end(tmp_path: Path) -> None:
    with folder_beside(tmp_path / "cube") as aside:
        assert (aside.parent, aside.stat().st_mode & 0o077) == (tmp_path, 0)
        (aside / "file").touch()
    assert list(tmp_path.iterdir()) == []


def test_it_is_gone_after_a_failure_and_stays_where_it_was_renamed_to(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="full"), folder_beside(tmp_path / "cube"):
        raise OSError("full")
    with folder_beside(tmp_path / "cube") as aside:
        (aside / "file").touch()
        aside.rename(tmp_path / "cube")
    assert [path.name for path in tmp_path.rglob("*")] == ["cube", "file"]


def killed_while_writing(path: Path) -> None:
    with folder_beside(path) as aside:
        (aside / "half").touch()
        os.kill(os.getpid(), signal.SIGKILL)


def test_what_a_killed_process_left_is_cleared_away_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    for name in ("cube", "other"):
        child = FORK.Process(target=killed_while_writing, args=(tmp_path / name,))
        child.start()
        child.join()
    assert len(list(tmp_path.glob(".*.part/half"))) == 2
    (tmp_path / ".cube.notes").touch()
    with folder_beside(tmp_path / "cube") as first, folder_beside(tmp_path / "cube") as second:
        assert first.is_dir()
        assert second.is_dir()
        left = {path for path in tmp_path.iterdir() if path not in (first, second)}
    assert {path.name.split(".")[1] for path in left} == {"cube", "other"}
    assert tmp_path / ".cube.notes" in left
    assert len(left) == 2


def test_nobody_else_looks_for_folders_left_behind_while_a_new_one_is_not_locked_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever clears away has the parent locked, as whoever makes a folder has until that one is locked."""
    make, other = tempfile.mkdtemp, os.open(tmp_path, os.O_RDONLY)

    def made(**where: str) -> str:
        folder = make(**where)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", made)
    with folder_beside(tmp_path / "cube"):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)  # and others may, while it is filled
    os.close(other)
