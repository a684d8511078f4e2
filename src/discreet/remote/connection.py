"""One server, asked in one user's name."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar
from urllib.parse import urlencode

from discreet.errors import ServerError
from discreet.http_json import STRANGER, Json, base_of, call, fetch

T = TypeVar("T")


@dataclass(frozen=True)
class Connection:
    """Where a server is, and the user's token. Errors are those that the server tells, with its address before them."""

    url: str
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", base_of(self.url, ServerError))

    def get(self, path: str, query: Sequence[tuple[str, str]] = ()) -> Json:
        """What the API answers at a path below /api/v1."""
        return call(self.url, _with(path, query), None, self.token, ServerError)

    def post(self, path: str, body: Json) -> Json:
        return call(self.url, path, body, self.token, ServerError)

    def download(self, path: str, query: Sequence[tuple[str, str]] = ()) -> bytes:
        """A file of the API, as it is."""
        return fetch(self.url, _with(path, query), None, self.token, ServerError)

    def _change(self, method: Literal["PATCH", "DELETE"], path: str, body: Json | None = None) -> Json:
        return call(self.url, path, body, self.token, ServerError, method)

    def _pages(self, path: str, key: str, after: int = 0, query: Sequence[tuple[str, str]] = ()) -> Iterator[Json]:
        """What the API lists at a path, page by page."""
        following: int | None = after
        while following is not None:
            page = self.get(path, [("after", str(following)), ("limit", "1000"), *query])
            yield from page[key]
            following = page["next"]

    def _made(self, make: Callable[[Any], T], body: Json) -> T:
        """A result from its JSON. Raises ServerError where a stranger answered."""
        try:
            return make(body)
        except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
            raise ServerError(f"{self.url} {STRANGER}") from None


def _with(path: str, query: Sequence[tuple[str, str]]) -> str:
    return f"{path}?{urlencode(list(query))}" if query else path
