"""Whether a source is still what its snapshot was taken of, as far as that can be told without reading it."""

from typing import Any

from discreet.errors import DiscreetError
from discreet.postgres_address import is_postgres
from discreet.table.paths import stamp_of
from discreet.table.source import FRAME


def state_of_source(taken: Any, location: object) -> str:
    """In words, for the custodian: it depends on what was written to the source since its stamp was taken."""
    if not isinstance(location, str) or location == FRAME or taken is None:
        return "cannot be told"
    try:
        now = _stamp(location)
    except DiscreetError:
        return "cannot be reached"
    return (
        "not written to since the snapshot" if now == taken else "written to since the snapshot; `refresh` takes it in"
    )


def _stamp(location: str) -> Any:
    if is_postgres(location):
        from discreet.table.open import open_source  # its driver takes long to import

        return open_source(location).stamp()
    return stamp_of(location.partition("?")[0])
