"""A folder where syncing costs nothing, if there is one with room: tests make and remove many thousands of files."""

import os
import shutil
from pathlib import Path

ROOM = 4 << 30
"""Bytes. Tests use some hundred megabytes at a time."""


def _roomy(folder: Path) -> bool:
    if not folder.is_dir() or not os.access(folder, os.W_OK) or os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(folder).free > ROOM


IN_MEMORY = Path("/dev/shm") if _roomy(Path("/dev/shm")) else None
