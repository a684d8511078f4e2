"""What statements were read as, for all who ask them: it follows from the text, the domain and the look-up tables."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from discreet.errors import DomainError, UnsupportedQuery
from discreet.sql.lookup import Lookup, Lookups
from discreet.sql.tokens import MOST_CHARACTERS

T = TypeVar("T")
MOST_KEPT = 256
"""Size of the cache of parsed SQL statements, and of refused ones."""


@dataclass(frozen=True)
class _Refused:
    """A text that was refused, with what the journal said of look-up tables if they were looked at: with more of them
    it may be answered."""

    error: UnsupportedQuery | DomainError
    noted: list[Mapping[str, Any]]


@dataclass(eq=False)
class Readings(Generic[T]):
    """Reads a statement once. What is refused for the moment only (`may_pass`) is read again."""

    read: Callable[[str, Lookups], T]
    noted: Callable[[], Mapping[str, Any]]
    """What the journal says of look-up tables."""
    lookups: Callable[[Mapping[str, Any]], Mapping[str, Lookup]]
    _kept: "OrderedDict[str, T | _Refused]" = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, sql: str) -> T:
        with self._lock:
            found = self._kept.get(sql)
            if found is not None:
                self._kept.move_to_end(sql)
        if found is None or (isinstance(found, _Refused) and any(noted != self.noted() for noted in found.noted)):
            found = self._read(sql)
        if isinstance(found, _Refused):
            raise copy(found.error)  # raised by several threads, one error would grow by the steps of each
        return found

    def _read(self, sql: str) -> T | _Refused:
        looked_at: list[Mapping[str, Any]] = []

        def lookups() -> Mapping[str, Lookup]:
            looked_at.append(self.noted())
            return self.lookups(looked_at[-1])

        found: T | _Refused
        try:
            found = self.read(sql, lookups)
        except (UnsupportedQuery, DomainError) as error:
            if error.may_pass or len(sql) > MOST_CHARACTERS:
                raise
            found = _Refused(copy(error), looked_at)
        with self._lock:
            self._kept[sql] = found
            self._kept.move_to_end(sql)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return found
