"""Addresses in Postgres, of tables and of journals: postgres://user:password@host:port/database?… → what it names.

A password is never shown or kept. psycopg's own parser would leave most of this to do: what is refused, in which words,
the options that are not the driver's, and the address without its password.
"""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from discreet.errors import JournalError, TableError

SCHEMES = ("postgres", "postgresql")
JOURNAL_FORM = "postgres://USER@HOST:PORT/DATABASE"
TABLE_FORM = f"{JOURNAL_FORM}?table=NAME"
SECURITY = ("sslmode", "sslrootcert", "sslcert", "sslkey")
"""Settings of the driver that a location may have, and a vault keeps."""
ESCAPE = "write special characters in names and passwords as %40 for @"


class AddressError(ValueError):
    """Why an address makes no sense, in words that quote no part of it: it may hold a password."""


@dataclass(frozen=True)
class Database:
    """A Postgres database, and how to get there."""

    parameters: dict[str, str] = field(repr=False)
    """What the driver is given, the password among it where one was written."""
    location: str
    """The URI without the password: what a vault keeps."""

    @property
    def where(self) -> str:
        user = f"{self.parameters['user']}@" if "user" in self.parameters else ""
        host, port = self.parameters.get("host", "localhost"), self.parameters.get("port", "5432")
        return f"{user}{host}:{port}/{self.parameters['dbname']}"


@dataclass(frozen=True)
class JournalPlace(Database):
    """The journal of one vault in a Postgres database."""

    vault_id: str
    """Empty where the URI names a database only."""


@dataclass(frozen=True)
class TablePlace(Database):
    """A table in a Postgres database."""

    table: str
    schema: str | None

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.table}" if self.schema else self.table


def is_postgres(location: str | Path) -> bool:
    scheme, found, _ = str(location).partition("://")
    return bool(found) and scheme in SCHEMES


def _read(uri: str, own: tuple[str, ...]) -> tuple[Database, dict[str, str]]:
    """The database that a URI names, and those of its options that are not the driver's: some of `own`.

    Raises AddressError where it makes no sense.
    """
    try:
        parts = urlsplit(uri)
        port = parts.port
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)) if parts.query else {}
    except ValueError:
        raise AddressError(ESCAPE) from None
    database = unquote(parts.path.removeprefix("/"))
    # A bare @, / or # in a password ends the host too early; what follows would be shown as a database's name.
    if parts.scheme not in SCHEMES or not database or "/" in database or "@" in parts.path + parts.query:
        raise AddressError(ESCAPE)
    if parts.fragment or not set(options) <= {*SECURITY, *own}:
        raise AddressError(f"it takes {', '.join((*own, *SECURITY))} after a question mark, and nothing else")
    host, user = parts.hostname, parts.username
    named = {"host": host and unquote(host), "port": port and str(port), "user": user and unquote(user)}
    parameters = {key: value for key, value in named.items() if value} | {"dbname": database}
    parameters |= {key: value for key, value in options.items() if key in SECURITY}
    if parts.password:
        parameters["password"] = unquote(parts.password)
    return Database(parameters, _without_password(parts)), {key: options[key] for key in own if key in options}


def journal_place(uri: str) -> JournalPlace:
    """Where a journal is."""
    try:
        database, options = _read(uri, ("vault",))
    except AddressError as problem:
        raise JournalError(f"a ledger in Postgres is {JOURNAL_FORM}", str(problem)) from None
    return JournalPlace(database.parameters, database.location, options.get("vault", ""))


def table_place(uri: str) -> TablePlace:
    """Where a table is."""
    try:
        database, options = _read(uri, ("table", "schema"))
        if not options.get("table"):
            raise AddressError("it needs a table")
    except AddressError as problem:
        raise TableError(f"a table in Postgres is {TABLE_FORM}; {problem}") from None
    return TablePlace(database.parameters, database.location, options["table"], options.get("schema"))


def of_vault(uri: str, vault_id: str) -> str:
    """The same URI, password and all, for the journal of one vault. Refuses one that names another vault."""
    named = journal_place(uri).vault_id
    if named not in ("", vault_id):
        raise JournalError("this ledger is another vault's", "leave out ?vault=, or open the vault that it belongs to")
    return uri if named else f"{uri}{'&' if urlsplit(uri).query else '?'}vault={quote(vault_id)}"


def _without_password(parts: SplitResult) -> str:
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return parts._replace(netloc=f"{name}@{host}" if name else host).geturl()
