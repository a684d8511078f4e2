"""postgres://user:password@host:port/database?table=people → what it names. A password is never shown or kept."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from discreet.errors import TableError
from discreet.ledger.postgres_uri import Database, UriError, read_uri

FORM = "postgres://USER@HOST:PORT/DATABASE?table=NAME"


@dataclass(frozen=True)
class PostgresPlace(Database):
    """A table in a Postgres database."""

    table: str
    schema: str | None

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.table}" if self.schema else self.table


def parse_place(uri: str) -> PostgresPlace:
    """Where a table is. Messages quote no part of a URI that cannot be read: it may hold a password."""
    try:
        database, options = read_uri(uri, ("table", "schema"))
    except UriError as problem:
        raise TableError(f"a table in Postgres is {FORM}; {problem}") from None
    if not options.get("table"):
        raise TableError(f"a table in Postgres is {FORM}; it needs a table")
    return PostgresPlace(database.parameters, database.location, options["table"], options.get("schema"))


def has_password(uri: str) -> bool:
    return urlsplit(uri).password is not None
