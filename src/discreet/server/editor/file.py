"""The file that is edited: read, and written in one piece, unless somebody else wrote to it meanwhile."""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import DomainError
from discreet.vault import propose_domain

BEGINNING = """\
name = "people"  # the table's name in SQL

[attributes.age]
kind = "integer"  # integer | category | bins | date
low = 0
high = 120
source = ""  # required: the public document that the values come from
"""


@dataclass(frozen=True)
class DomainFile:
    """A domain's file, which need not be there yet, and the table that it is to describe, where one was named."""

    path: Path
    table: str | None = None

    @property
    def table_name(self) -> str:
        """The table as people call it: without the folders that it is in."""
        return (self.table or "").partition("?")[0].rstrip("/").rpartition("/")[2]

    def read(self) -> tuple[str, str]:
        """The text, and the state of the file. Where there is none yet, a draft of the table, or a beginning."""
        try:
            content = self.path.read_bytes()
            return content.decode("utf-8-sig"), _state(content)
        except FileNotFoundError:
            return (BEGINNING if self.table is None else propose_domain(self.table)), ""
        except (OSError, UnicodeDecodeError):
            raise DomainError(f"cannot read {self.path}; a domain is a UTF-8 TOML file") from None

    def write(self, text: str, state: str) -> str:
        """Write the text and return the new state. Raises DomainError where the file is not in the state that it was
        read in, or cannot be written; then nothing is."""
        content = text.replace("\r\n", "\n").encode()
        try:
            now = _state(self.path.read_bytes()) if self.path.exists() else ""
            if now != state:
                raise DomainError(f"{self.path} was changed by somebody else: copy your text, and load the page again")
            mode = self.path.stat().st_mode if now else None
            with tempfile.NamedTemporaryFile(dir=self.path.parent, prefix=f".{self.path.name}.", delete=False) as new:
                new.write(content)
            if mode is not None:
                os.chmod(new.name, mode)
            os.replace(new.name, self.path)
        except OSError:
            raise DomainError(f"cannot write {self.path}; is its folder there, and may you write to it?") from None
        return _state(content)


def _state(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
