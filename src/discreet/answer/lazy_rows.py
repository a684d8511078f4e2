"""Rows that are made when they are looked at: of an answer of 10^5 lines hardly any are."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

from discreet.answer.reply import Row
from discreet.answer.view import ColumnarRows


class LazyRows(Sequence[Row], ColumnarRows):
    """A sequence of rows, equal to any other of the same. Whoever looks at all of them once does so again."""

    @abstractmethod
    def at(self, place: int) -> Row:
        """The row at a place, which is one of the sequence's."""

    def every(self) -> Iterator[Row]:
        """All of them, made anew."""
        return map(self.at, range(len(self)))

    @overload
    def __getitem__(self, number: int) -> Row: ...

    @overload
    def __getitem__(self, number: slice) -> tuple[Row, ...]: ...

    def __getitem__(self, number: int | slice) -> Row | tuple[Row, ...]:
        places = range(len(self))[number]
        return self.at(places) if isinstance(places, int) else tuple(map(self.at, places))

    @cached_property
    def _all(self) -> tuple[Row, ...]:
        return tuple(self.every())

    def __iter__(self) -> Iterator[Row]:
        return iter(self._all)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all)
