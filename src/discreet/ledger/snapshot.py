"""Which snapshot of the table a charge pays for, and where a vault keeps it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

SNAPSHOTS = "snapshots"

SUCCESSIONS = ("refresh", "erase")
"""Entries of these kinds put the vault over the next snapshot, of which nothing was released yet."""


@dataclass(frozen=True, slots=True)
class SnapshotId:
    """A snapshot's number, from 1 on, and its digest: keyed by the vault and salted by the number."""

    number: int
    digest: str

    def to_json(self) -> dict[str, Any]:
        return {"number": self.number, "digest": self.digest}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "SnapshotId":
        number, digest = body["number"], body["digest"]
        if not isinstance(number, int) or isinstance(number, bool) or number < 1 or not isinstance(digest, str):
            raise ValueError("a snapshot has a number from 1 on and a digest")
        return cls(number, digest)


class Era(NamedTuple):
    """A snapshot that people were taken out of: what was charged between two entries is about it."""

    since: int
    until: int
    snapshot: SnapshotId
    """The last one before they were."""

    @classmethod
    def stated(cls, since: int, until: int, snapshot: Mapping[str, Any]) -> "Era":
        """As a checkpoint states it."""
        return cls(since, until, SnapshotId.from_json(snapshot))

    def to_json(self) -> list[Any]:
        return [self.since, self.until, self.snapshot.to_json()]


def snapshot_folder(home: Path, id: SnapshotId) -> Path:
    return home / SNAPSHOTS / f"{id.number:06}-{id.digest[:16]}"
