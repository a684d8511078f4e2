"""Whether a source is still what its snapshot was taken of, as far as that can be told without reading it."""

from discreet.errors import DiscreetError
from discreet.table.open import open_source
from discreet.table.snapshot import Snapshot
from discreet.table.source import FRAME

UNTOLD = "cannot be told"


def state_of_source(snapshot: Snapshot, location: object) -> str:
    """In words, for the custodian: it depends on what was written to the source."""
    taken = snapshot.manifest["stamp"]
    if location == FRAME or taken is None:
        return UNTOLD
    try:
        now = open_source(location).stamp()
    except DiscreetError:
        return "cannot be reached"
    return (
        "not written to since the snapshot" if now == taken else "written to since the snapshot; `refresh` takes it in"
    )
