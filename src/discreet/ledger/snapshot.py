"""Which snapshot of the table a charge pays for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
