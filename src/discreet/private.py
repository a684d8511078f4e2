"""Files and folders for their owner alone, whatever the umask: everything in a vault is made here.

What is published is for others, and is made readable on purpose: the folders of cubes, statistics and buckets that are
written outside of a vault (`release/package.py`). Exports, pictures and reports, which a user names, follow the umask.
"""

import os
from pathlib import Path

FILE, FOLDER = 0o600, 0o700
PUBLIC_FILE, PUBLIC_FOLDER = 0o644, 0o755
SETTINGS = "vault.toml"
"""The file that makes a folder a vault."""


def private_file(path: Path, flags: int) -> int:
    """Open a file for writing; where it is not there, or empty, it becomes its owner's alone."""
    file = os.open(path, flags | os.O_CREAT, FILE)
    try:
        found = os.fstat(file)
        if not found.st_size and found.st_mode & 0o777 != FILE:
            os.fchmod(file, FILE)
    except BaseException:
        os.close(file)
        raise
    return file


def private_folder(path: Path) -> None:
    """Make a folder that is its owner's alone. One that is there stays as it is."""
    try:
        os.mkdir(path, FOLDER)
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        os.chmod(path, FOLDER)


def write_private(path: Path, content: bytes) -> None:
    """A new file with this content, synced. Raises FileExistsError where there is one."""
    with os.fdopen(private_file(path, os.O_WRONLY | os.O_EXCL), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def is_vault(path: Path) -> bool:
    """Whether a folder is a vault."""
    return (path / SETTINGS).is_file()


def is_in_vault(path: Path) -> bool:
    """Whether a place is inside of a vault."""
    return any((parent / SETTINGS).is_file() for parent in path.absolute().parents)
