"""How a CSV file is written, as its location declares it: `people.csv?encoding=latin-1&separator=semicolon`."""

import codecs
from dataclasses import dataclass
from typing import Literal, get_args

from discreet.errors import TableError
from discreet.table.settings import lines_above, settings_of, settings_said

Encoding = Literal["utf-8", "latin-1", "cp1252"]
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " ", "colon": ":"}
OPTIONS = {
    "encoding": "utf-8 | latin-1 | cp1252",
    "separator": "comma | semicolon | tab | pipe | space | colon | a character",
    "names": "a,b,c where no line has them",
    "skip": "how many lines stand above the one with the names",
}
CP1252 = "".join(
    chr(byte) if text == "\ufffd" else text
    for byte, text in enumerate(bytes(range(256)).decode("cp1252", errors="replace"))
)
"""What each byte stands for. The five that stand for nothing are control characters, which no domain declares."""


@dataclass(frozen=True)
class CsvFormat:
    """What is declared about a file's bytes; the separator is the header's most frequent one where nothing is said."""

    encoding: Encoding = "utf-8"
    separator: str | None = None
    names: tuple[str, ...] = ()
    """The columns of a file whose first line is a row already."""
    skip: int = 0
    """Lines that are no part of the table, above all others."""

    def to_utf8(self, block: bytes) -> bytes:
        """The same text in UTF-8. Total: every byte of the other encodings stands for something."""
        match self.encoding:
            case "utf-8":
                return block
            case "latin-1":
                return block.decode("latin-1").encode()
            case "cp1252":
                return codecs.charmap_decode(block, "strict", CP1252)[0].encode()


def csv_format(location: str) -> tuple[str, CsvFormat]:
    """The path of a location, and what stands behind its question mark."""
    path, said = settings_of(location, "a CSV file", OPTIONS)
    wanted = said.get("encoding", "utf-8").lower()
    known = next((name for name in get_args(Encoding) if name == wanted), None)
    if known is None:
        raise TableError(f"{path}: {settings_said('a CSV file', OPTIONS)}")
    names = tuple(name.strip() for name in said["names"].split(",")) if "names" in said else ()
    if not all(names) or len({name.lower() for name in names}) < len(names):
        raise TableError(f"{path}: names are those of all columns, each once, divided by commas: names=age,sex,income")
    separator = said.get("separator")
    if separator is not None:
        separator = SEPARATORS.get(separator, separator)
        if len(separator) != 1 or not separator.isascii() or separator.isalnum() or separator in '"\r\n':
            said_so = settings_said("a CSV file", OPTIONS)
            raise TableError(f"{path}: the separator is one character, no letter, digit or quote; {said_so}")
    return path, CsvFormat(known, separator, names, lines_above(path, said))
