"""The files of tests in memory, where it has room: a vault syncs dozens of times as it is made and asked, and a disk
takes milliseconds every time, in which nobody works."""

import os
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""Bytes. What tests of installing make is the largest part."""


def keep_files_in_memory() -> None:
    """In this process and in those that it starts; not where somebody said where files go, or programs may not run."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return
    memory = os.statvfs(MEMORY)
    if memory.f_bavail * memory.f_frsize >= ROOM and not memory.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # what it chose before
