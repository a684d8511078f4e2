"""Answers as they were recorded: of the right shape, whole numbers, where they can be; and, in files, the very bytes
that the journal has the hash of."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit.finding import Check, Findings, counted
from discreet.audit.price import ExpectedAnswer

TYPES = ("<i2", "<i4", "<i8")
MOST = 2**63
COPY = "restore it from a copy (it is public); without one, that answer is lost and stays paid for"
WRITTEN = "somebody rewrote the journal: restore it from a backup, and find out who wrote to it"


class Wrong(Exception):
    """Why an answer is not what it must be, and what to do."""

    def __init__(self, what: str, next: str = WRITTEN) -> None:
        super().__init__(what)
        self.next = next


@dataclass
class Bodies:
    """Looks at recorded answers; `folder` is where the large ones are."""

    folder: Path
    numbers: int = 0
    files: set[str] = field(default_factory=set)
    _answers: int = 0
    _found: Findings = field(default_factory=Findings)

    def look(self, seq: int, charge: int, body: Any, expected: Sequence[ExpectedAnswer] | None) -> None:
        """Look at the answer that entry `seq` gives to a charge."""
        self._answers += 1
        if expected is None:
            return  # what it answers was not understood, and that was said
        try:
            if isinstance(body, dict) and "values" in body:
                _listed(body["values"], expected)
            else:
                self._filed(charge, body, expected)
            self.numbers += sum(answer.cells for answer in expected)
        except Wrong as wrong:
            self._found.failed(f"the answer of charge {charge}, entry {seq}, {wrong}", wrong.next, seq)

    def _filed(self, charge: int, body: Any, expected: Sequence[ExpectedAnswer]) -> None:
        try:
            name, digest, types = str(body["file"]), str(body["sha256"]), [str(kind) for kind in body["types"]]
        except (LookupError, TypeError):
            raise Wrong("cannot be read") from None
        if name != f"{charge}-{digest[:16]}.bin":
            raise Wrong(f"is in the file of another charge, {name!r}")
        if len(types) != len(expected) or not set(types) <= set(TYPES):
            raise Wrong("has another number of answers than its plan has questions")
        self.files.add(name)
        sizes = [answer.cells * np.dtype(kind).itemsize for answer, kind in zip(expected, types, strict=True)]
        try:
            with open(self.folder / name, "rb") as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() != digest:
                    raise Wrong("was changed on disk: its file is not the one that the journal has the hash of", COPY)
                if stream.tell() != sum(sizes):
                    raise Wrong("has another shape than its plan asks for")
                stream.seek(0)
                for answer, kind, size in zip(expected, types, sizes, strict=True):
                    if answer.low is None and answer.high is None:
                        stream.seek(size, 1)
                    else:
                        _within(np.fromfile(stream, kind, answer.cells), answer)
        except FileNotFoundError:
            raise Wrong(f"is gone: {self.folder.name}/{name} is not there", COPY) from None
        except OSError:
            raise Wrong(f"cannot be read: {self.folder.name}/{name}", "see that you may read it") from None

    def strays(self, waiting: Sequence[int]) -> list[str]:
        """Draws on disk that no record names. Facts have files there too, by a name of their own."""
        if not self.folder.is_dir():
            return []
        mine = {f"{charge}" for charge in waiting}
        return sorted(
            path.name
            for path in self.folder.iterdir()
            if path.name not in self.files
            and not path.name.startswith("fact-")
            and path.name.lstrip(".").partition("-")[0] not in mine
        )

    def check(self, waiting: Sequence[int]) -> Check:
        """`waiting`: the charges without a record; what is on disk for them may be of a process that is at work."""
        strays = self.strays(waiting)
        if strays:
            self._found.warning(
                f"{self.folder.name}/ has {counted(len(strays), 'file')} that no record names, as {strays[0]}: a draw "
                "that was never released",
                "remove it, and pass it on to nobody: beside the answer that was released it is a second look",
            )
        files = f", {counted(len(self.files), 'file')}" if self.files else ""
        detail = f"{counted(self._answers, 'answer')}, {counted(self.numbers, 'whole number')}{files}"
        return self._found.check("releases", "Answers are as released", detail)


def _listed(values: Any, expected: Sequence[ExpectedAnswer]) -> None:
    if not isinstance(values, list) or len(values) != len(expected):
        raise Wrong("has another number of answers than its plan has questions")
    for numbers, answer in zip(values, expected, strict=True):
        if not isinstance(numbers, list) or len(numbers) != answer.cells:
            raise Wrong("has another shape than its plan asks for")
        if not all(type(number) is int and -MOST <= number < MOST for number in numbers):
            raise Wrong("has numbers that are not whole, and noise is drawn on whole ones only")
        _within(np.array(numbers, np.int64), answer)


def _within(numbers: Any, answer: ExpectedAnswer) -> None:
    """Codes of a quantile are the domain's; binomial noise reaches R/2 at most."""
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    if (answer.low is not None and low < answer.low) or (answer.high is not None and high > answer.high):
        raise Wrong("has numbers that its noise cannot make")
