"""A mutant: one place of a source file, written differently."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "src/discreet"


@dataclass(frozen=True)
class Mutant:
    """The bytes `start` … `end` of a file of the package, such as `ledger/grid.py`, and what stands there instead."""

    path: str
    start: int
    end: int
    after: str
    kind: str

    @property
    def room(self) -> str:
        return self.path.partition("/")[0]

    @property
    def file(self) -> str:
        """The file, from the root of the repository."""
        return f"{PACKAGE}/{self.path}"

    @property
    def source(self) -> bytes:
        return _read(self.file)

    @property
    def mutated(self) -> bytes:
        return self.source[: self.start] + self.after.encode() + self.source[self.end :]

    @property
    def line(self) -> int:
        return self.source.count(b"\n", 0, self.start) + 1

    @property
    def diff(self) -> str:
        """The lines that go, each after `- `, and those that come, after `+ `; without their indents."""
        first, last = self.source.rfind(b"\n", 0, self.start) + 1, self.source.find(b"\n", self.end)
        old = self.source[first:last].decode()
        new = (self.source[first : self.start] + self.after.encode() + self.source[self.end : last]).decode()
        return "\n".join(
            [*(f"- {line.strip()}" for line in old.split("\n")), *(f"+ {line.strip()}" for line in new.split("\n"))]
        )

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.kind})\n{self.diff}"


@cache
def _read(file: str) -> bytes:
    return (ROOT / file).read_bytes()


def replaced(path: str, before: str, after: str, kind: str) -> Mutant:
    """A mutant that is written by hand: a text that stands once in its file, and another."""
    source = (ROOT / PACKAGE / path).read_text()
    if source.count(before) != 1:
        raise ValueError(f"{path} has this {source.count(before)} times, and once is wanted:\n{before}")
    start = len(source[: source.index(before)].encode())
    return Mutant(path, start, start + len(before.encode()), after, kind)
