"""Sessions over MySQL: so many of one user, so that nobody takes them all."""

from collections import Counter
from dataclasses import dataclass, field

from mysql_mimic.errors import MysqlError

MOST_OF_ONE = 32
TOO_MANY_OF_ONE = 1203  # ER_TOO_MANY_USER_CONNECTIONS


@dataclass
class Seats:
    """The sessions of a port, for one event loop."""

    _taken: "Counter[str]" = field(default_factory=Counter)

    def take(self, user: str) -> None:
        """A session more of a user. Raises MysqlError where they have as many as anybody may."""
        if self._taken[user] >= MOST_OF_ONE:
            words = f"{user} has {MOST_OF_ONE} sessions open, as many as anybody may; close some"
            raise MysqlError(words, TOO_MANY_OF_ONE)
        self._taken[user] += 1

    def leave(self, user: str) -> None:
        self._taken[user] -= 1
        self._taken += Counter()  # forgets those who have none
