"""A visit: one request for a page, by a user, of a vault."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import Response

from discreet.errors import DiscreetError, NotFound
from discreet.server.auth import MAY_ASK, User
from discreet.server.console.drafts import Drafts
from discreet.server.console.page import PART, page
from discreet.server.desk import FrontDesk
from discreet.server.door import admitted, without_place
from discreet.server.shelf import Shelf
from discreet.vault.vault import Vault

if TYPE_CHECKING:
    from discreet.cube.cube import Cube

Fields = dict[str, list[str]]


@dataclass(frozen=True)
class Visit:
    """What a page is made from. `fields` are those of the form or of the address, each with its values."""

    request: Request
    desk: FrontDesk
    shelf: Shelf
    drafts: Drafts
    fields: Fields

    @property
    def vault(self) -> Vault:
        return self.desk.vault

    @property
    def over(self) -> Vault:
        """The same over the table that the page is about: of several, the one that it names, or the first."""
        name = self.first("table")
        return self.vault.table(name) if name else self.vault

    @property
    def user(self) -> User:
        return admitted(self.request)

    @property
    def answers_sql(self) -> bool:
        """Whether questions are SQL here; a SuLQ database is asked about subsets, by programs."""
        return not self.vault.ledger.budget.by_queries

    @property
    def is_part(self) -> bool:
        """Whether a script of the console asks for a part of the page."""
        return PART in self.request.headers

    def first(self, name: str, default: str = "") -> str:
        """A field's first value without the space around it."""
        return (self.fields.get(name) or [default])[0].strip()

    def all(self, name: str) -> list[str]:
        return [value for value in self.fields.get(name, []) if value]

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number from 0 to `most`; the default where it is none."""
        text = self.first(name)
        return min(int(text), most) if text.isascii() and text.isdigit() and len(text) < 12 else default

    def cube(self) -> tuple[str, "Cube"]:
        """The cube that the address names, or the last there is."""
        name, names = self.request.path_params.get("name"), self.shelf.cubes()
        if name is None and not names:
            raise NotFound("no cube is published here; the page Plan makes one")
        chosen = str(names[-1] if name is None else name)
        return chosen, self.shelf.cube(chosen)

    def public(self, error: DiscreetError) -> str:
        """An error's words without the vault's place on the server's disk."""
        return without_place(str(error), str(self.vault.path))

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """A page in the console's frame: which pages there are, whose vault it is."""
        return page(
            self.request,
            template,
            status,
            name=", ".join(self.vault.tables),
            tables=self.vault.tables if len(self.vault.tables) > 1 else (),
            menu=self._pages(),
            may_ask=self.user.role in MAY_ASK,
            **values,
        )

    def _pages(self) -> list[tuple[str, str]]:
        """Addresses and names of the pages there are: only those of what exists."""
        cubes, custodian = bool(self.shelf.cubes()), self.user.role == "custodian"
        alone = len(self.vault.tables) == 1  # what is not done over several tables has no page (known-gaps.md)
        there = (
            ("/", "Start", self.answers_sql),
            ("/ask", "Ask", self.answers_sql),
            ("/history", "History", self.answers_sql and self.user.role in MAY_ASK),
            ("/cube", "Cube", cubes),
            ("/lattice", "Lattice", cubes),
            ("/rows", "Rows", bool(self.shelf.rows_names())),
            ("/budget", "Budget", True),
            ("/releases", "Releases", self.vault.ledger.charges > 0),
            ("/ledger", "Ledger", True),
            ("/buckets", "Buckets", bool(self.shelf.bucket_names()) or (custodian and self.answers_sql and alone)),
            ("/plan", "Plan", self.answers_sql),
            ("/facts", "Facts", bool(self.vault.ledger.all_facts) or (custodian and self.answers_sql)),
            ("/users", "Users", self.user.role != "analyst"),
            ("/glossary", "Glossary", True),
        )
        return [(path, name) for path, name, exists in there if exists]
