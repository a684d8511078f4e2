"""postgres://user:password@host:port/database?vault=ID → what it names. A password is never shown or kept."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from discreet.errors import JournalError

SCHEMES = ("postgres", "postgresql")
FORM = "postgres://USER@HOST:PORT/DATABASE"
SECURITY = ("sslmode", "sslrootcert", "sslcert", "sslkey")
"""Settings of the driver that a location may have, and a vault keeps."""
MALFORMED = f"a ledger in Postgres is {FORM}; write special characters in names and passwords as %40 for @"


@dataclass(frozen=True)
class JournalPlace:
    """The journal of one vault in a Postgres database, and how to get there."""

    parameters: dict[str, str] = field(repr=False)
    """What the driver is given, the password among it where one was written."""
    vault_id: str
    """Empty where the URI names a database only."""
    location: str
    """The URI without the password: what a vault keeps."""

    @property
    def where(self) -> str:
        user = f"{self.parameters['user']}@" if "user" in self.parameters else ""
        host, port = self.parameters.get("host", "localhost"), self.parameters.get("port", "5432")
        return f"{user}{host}:{port}/{self.parameters['dbname']}"


def is_postgres(location: str | Path) -> bool:
    scheme, found, _ = str(location).partition("://")
    return bool(found) and scheme in SCHEMES


def parse_place(uri: str) -> JournalPlace:
    """Read a URI. Messages quote no part of one that cannot be read: it may hold a password."""
    try:
        parts = urlsplit(uri)
        port = parts.port
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)) if parts.query else {}
    except ValueError:
        raise JournalError(MALFORMED) from None
    database = unquote(parts.path.removeprefix("/"))
    # A bare @, / or # in a password ends the host too early; what follows would be shown as a database's name.
    if parts.scheme not in SCHEMES or not database or "/" in database or "@" in parts.path + parts.query:
        raise JournalError(MALFORMED)
    vault_id = options.pop("vault", "")
    if parts.fragment or not set(options) <= set(SECURITY):
        raise JournalError(f"{FORM}: a ledger takes {', '.join(SECURITY)} after a question mark, and nothing else")
    host = parts.hostname and unquote(parts.hostname)
    named = {"host": host, "port": port and str(port), "user": parts.username and unquote(parts.username)}
    parameters = {key: value for key, value in named.items() if value} | {"dbname": database} | options
    if parts.password:
        parameters["password"] = unquote(parts.password)
    return JournalPlace(parameters, vault_id, _without_password(uri))


def of_vault(uri: str, vault_id: str) -> str:
    """The same URI, password and all, for the journal of one vault. Refuses one that names another vault."""
    named = parse_place(uri).vault_id
    if named not in ("", vault_id):
        raise JournalError("this ledger is another vault's; leave out ?vault=, or open the vault that it belongs to")
    return uri if named else f"{uri}{'&' if urlsplit(uri).query else '?'}vault={quote(vault_id)}"


def _without_password(uri: str) -> str:
    parts = urlsplit(uri)
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return parts._replace(netloc=f"{name}@{host}" if name else host).geturl()
