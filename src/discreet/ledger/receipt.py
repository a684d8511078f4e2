"""Receipts: proof of how far a journal had come, and the last one seen for each vault, kept outside the vault.

A copy of a vault put back from a backup forgets what was spent since. The receipt in the user's state directory does
not: a journal that is behind it is refused. It is kept as well as the home directory allows: a home that cannot be
written loses this check, never an answer.
"""

import fcntl
import os
import re
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from discreet.private import private_file, private_folder


@dataclass(frozen=True, slots=True)
class Receipt:
    """The journal held entry `seq`, and its chain up to there has this hash."""

    seq: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash.hex()}"

    @classmethod
    def parse(cls, text: str) -> "Receipt":
        """The inverse of str(); raises ValueError where the text is no receipt."""
        match = re.fullmatch(r"([1-9][0-9]{0,17}):([0-9a-f]{64})", text.strip())
        if match is None:
            raise ValueError("a receipt looks like 17:ab12…, a number and 64 hexadecimal digits")
        return cls(int(match[1]), bytes.fromhex(match[2]))


def receipt_path(vault_id: str) -> Path:
    """Where the last receipt of a vault is kept: under XDG_STATE_HOME, or else ~/.local/state."""
    return _receipt_path(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), vault_id)


@lru_cache(maxsize=64)
def _receipt_path(state: str, vault_id: str) -> Path:
    return Path(state) / "discreet" / "receipts" / vault_id


def last_receipt(vault_id: str) -> Receipt | None:
    """The last receipt seen for a vault by this user on this machine, if one can be read."""
    return _read(receipt_path(vault_id))


def _read(path: Path) -> Receipt | None:
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    with os.fdopen(file, "rb") as stream:
        return _unsealed(stream.read(SEALED))


def keep_receipt(
    vault_id: str,
    receipt: Receipt,
    *,
    goes_on_from: Callable[[Receipt], bool] = lambda _: True,
    even_if_older: bool = False,
) -> Receipt | None:
    """Replace the last receipt by a later one of the same journal, which says what it `goes_on_from`. Where it does not
    go on from the one that is kept, that one stays, and is returned. Not synced, and silent where it cannot be
    written."""
    try:
        file = _opened(receipt_path(vault_id), os.O_RDWR)
    except OSError:
        return None
    try:
        with suppress(OSError):  # a disk without locks: then a later one may give way to this one
            fcntl.flock(file, fcntl.LOCK_EX)
        seen = _unsealed(os.pread(file, SEALED, 0))
        if seen is not None and not even_if_older and not goes_on_from(seen):
            return seen
        if seen is None or seen.seq < receipt.seq or even_if_older:
            os.pwrite(file, _sealed(receipt), 0)
    except OSError:
        return None
    finally:
        os.close(file)
    return None


def kept_checkpoint(vault_id: str) -> Receipt | None:
    """The last checkpoint of a vault's journal that this user has compared with the entries before it, on this machine;
    if one can be read."""
    return _read(_checkpoint_path(vault_id))


def keep_checkpoint(vault_id: str, checkpoint: Receipt) -> None:
    """Remember a checkpoint that was compared. Not synced, and silent where it cannot be written: then all entries are
    counted when the vault is next opened."""
    try:
        file = _opened(_checkpoint_path(vault_id), os.O_RDWR)
    except OSError:
        return
    try:
        os.pwrite(file, _sealed(checkpoint), 0)
    except OSError:
        return
    finally:
        os.close(file)


def _checkpoint_path(vault_id: str) -> Path:
    return receipt_path(vault_id).with_name(f"{vault_id}.checkpoint")


def lost_receipts(vault_id: str) -> frozenset[str]:
    """The last receipts of the branches of a vault's journal that were given up, as far as this user knows."""
    try:
        lines = _lost_path(vault_id).read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return frozenset()
    return frozenset(line for line in lines if _is_receipt(line))


def keep_lost(vault_id: str, lost: Iterable[str]) -> None:
    """Remember branches that were given up: where the entry that says so is lost itself, it is not forgotten. Not
    synced, and silent where it cannot be written."""
    new = sorted(set(lost) - lost_receipts(vault_id)) if lost else []
    if not new:
        return
    try:
        file = _opened(_lost_path(vault_id), os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, "".join(f"{receipt}\n" for receipt in new).encode("ascii"))
        finally:
            os.close(file)
    except OSError:
        return


def _lost_path(vault_id: str) -> Path:
    return receipt_path(vault_id).with_name(f"{vault_id}.lost")


def _is_receipt(line: str) -> bool:
    try:
        return str(Receipt.parse(line)) == line
    except ValueError:
        return False


SEALED = 96
"""The bytes of a receipt file. They are overwritten in place: a rename would cost each answer as much as a sync."""


def _sealed(receipt: Receipt) -> bytes:
    text = f"{receipt} "
    return f"{text}{zlib.crc32(text.encode()):08x}".ljust(SEALED - 1).encode("ascii") + b"\n"


def _unsealed(line: bytes) -> Receipt | None:
    """None unless the line is whole: a reader may meet a writer half-way."""
    try:
        seq, _, digest = line.decode("ascii").split(" ")[0].partition(":")
        receipt = Receipt(int(seq), bytes.fromhex(digest))
    except ValueError:
        return None
    return receipt if line == _sealed(receipt) else None


def _opened(path: Path, flags: int) -> int:
    try:
        return private_file(path, flags)
    except FileNotFoundError:
        receipts = path.parent
        receipts.parent.parent.mkdir(parents=True, exist_ok=True)
        private_folder(receipts.parent)
        private_folder(receipts)
        return private_file(path, flags)
