"""A disk that may lose its power: what is there afterwards is what was synced, by a name that was synced."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class Disk:
    """Knows what files held, and which names folders had, when they were last synced."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._content: dict[int, tuple[int, int]] = {}
        self._names: dict[int, dict[str, int]] = {}

    def synced(self, opened: int) -> None:
        about = os.fstat(opened)
        if os.path.isdir(opened):
            self._names[about.st_ino] = _names(opened)
        else:
            self._content[about.st_ino] = (about.st_size, about.st_mtime_ns)

    def keeps_name(self, path: Path) -> bool:
        """Whether a file or folder, and each folder between it and the root, is found by its name after a power cut."""
        path = path.absolute()
        here = path.stat().st_ino
        known = self._names.get(path.parent.stat().st_ino, {}).get(path.name) == here
        return known and (path.parent == self._root or self.keeps_name(path.parent))

    def keeps(self, path: Path) -> bool:
        """Whether a file is there after a power cut, with all that it holds."""
        about = path.stat()
        return self.keeps_name(path) and self._content.get(about.st_ino) == (about.st_size, about.st_mtime_ns)


@contextmanager
def power_may_go(root: Path) -> Iterator[Disk]:
    """In the block, files and folders inside of `root` are kept by what this process syncs, and by nothing else."""
    disk, sync = Disk(root), os.fsync

    def watched(opened: int) -> None:
        sync(opened)
        disk.synced(opened)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", watched)
        yield disk


def _names(folder: int) -> dict[str, int]:
    with os.scandir(folder) as entries:
        return {entry.name: entry.inode() for entry in entries}
