"""A party behind `discreet serve`: the miner speaks HTTP, and sees what every analyst sees.

GET /api/v1/sulq → people, roster, trials, queries_left, guarantee
POST /api/v1/sulq/ask {"predicate": text, "subsets": [{"seed": 7, "rate": "1/2"}, {"ids": […]}, "everyone", …]}
→ values, sizes, variance, guarantee, receipt, queries_left, notes
Both take `Authorization: Bearer <token>`; an error is {"error": {"kind": "BudgetExceeded", "message": …}}.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.errors import PartyError
from discreet.http_json import STRANGER, Json, base_of, call
from discreet.mining.party import SubsetAnswers
from discreet.query.subset import Subset, subset_to_json

ROUTE = "/sulq"


@dataclass(frozen=True)
class RemoteParty:
    """A party by its address. What never changes is asked once; what is left of its queries, every time."""

    url: str
    people: int
    roster: str
    trials: int
    guarantee: str
    token: str | None = field(default=None, repr=False, compare=False)

    @classmethod
    def at(cls, url: str, token: str | None = None) -> "RemoteParty":
        """Ask a server what it is. Raises PartyError where there is none, or none with a budget of queries."""
        base = base_of(url, PartyError)
        about = call(base, ROUTE, None, token, PartyError)
        try:
            return cls(base, int(about["people"]), str(about["roster"]), int(about["trials"]), _words(about), token)
        except (KeyError, TypeError, ValueError):
            raise PartyError(f"{base} {STRANGER}") from None

    @property
    def queries_left(self) -> int:
        return int(call(self.url, ROUTE, None, self.token, PartyError)["queries_left"])

    def ask_subsets(self, subsets: Sequence[Subset], predicate: str) -> SubsetAnswers:
        asked = {"predicate": predicate, "subsets": [subset_to_json(subset) for subset in subsets]}
        reply = call(self.url, f"{ROUTE}/ask", asked, self.token, PartyError)
        try:
            values, sizes = (np.array(reply[key], np.int64) for key in ("values", "sizes"))
            notes = tuple(str(note) for note in reply.get("notes", ()))
        except (KeyError, TypeError, ValueError, OverflowError):
            raise PartyError(f"{self.url} {STRANGER}") from None
        if not values.shape == sizes.shape == (len(subsets),):
            raise PartyError(f"{self.url} did not answer every subset; what it charged is spent")
        return SubsetAnswers(values, sizes, str(reply.get("receipt", "")), notes)


def _words(about: Json) -> str:
    guarantee = about["guarantee"]
    return guarantee if isinstance(guarantee, str) else str(guarantee["text"])
