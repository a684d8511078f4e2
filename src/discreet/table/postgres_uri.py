"""postgres://user:password@host:port/database?table=people → what it names. A password is never shown or kept."""

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from discreet.errors import TableError

SCHEMES = ("postgres", "postgresql")
FORM = "postgres://USER@HOST:PORT/DATABASE?table=NAME"
SECURITY = ("sslmode", "sslrootcert", "sslcert", "sslkey")
"""Settings of the driver that a location may have, and a vault keeps."""
MALFORMED = f"a table in Postgres is {FORM}; write special characters in names and passwords as %40 for @"


@dataclass(frozen=True)
class PostgresPlace:
    """A table in a Postgres database, and how to get there."""

    parameters: dict[str, str] = field(repr=False)
    """What the driver is given, the password among it where one was written."""
    table: str
    schema: str | None
    location: str
    """The URI without the password: what a vault keeps."""

    @property
    def where(self) -> str:
        user = f"{self.parameters['user']}@" if "user" in self.parameters else ""
        host, port = self.parameters.get("host", "localhost"), self.parameters.get("port", "5432")
        return f"{user}{host}:{port}/{self.parameters['dbname']}"

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.table}" if self.schema else self.table


def is_postgres(uri: str) -> bool:
    return uri.partition("://")[0] in SCHEMES and "://" in uri


def parse_place(uri: str) -> PostgresPlace:
    """Read a URI. Messages quote no part of one that cannot be read: it may hold a password."""
    try:
        parts = urlsplit(uri)
        port = parts.port
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)) if parts.query else {}
    except ValueError:
        raise TableError(MALFORMED) from None
    database = unquote(parts.path.removeprefix("/"))
    # A bare @, / or # in a password ends the host too early; what follows would be shown as a database's name.
    if not database or "/" in database or "@" in parts.path + parts.query or parts.fragment:
        raise TableError(MALFORMED)
    table, schema = options.pop("table", ""), options.pop("schema", None)
    if not table or not set(options) <= set(SECURITY):
        raise TableError(f"{FORM}: it needs a table, and takes schema, {', '.join(SECURITY)} beside it")
    host = parts.hostname and unquote(parts.hostname)
    named = {"host": host, "port": port and str(port), "user": parts.username and unquote(parts.username)}
    parameters = {key: value for key, value in named.items() if value} | {"dbname": database} | options
    if parts.password:
        parameters["password"] = unquote(parts.password)
    return PostgresPlace(parameters, table, schema, _without_password(uri))


def _without_password(uri: str) -> str:
    parts = urlsplit(uri)
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return parts._replace(netloc=f"{name}@{host}" if name else host).geturl()


def has_password(uri: str) -> bool:
    return urlsplit(uri).password is not None
