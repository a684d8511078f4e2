"""Parties by what names them: a vault, an address, or the party itself."""

from typing import Protocol, runtime_checkable

from discreet.errors import PartyError
from discreet.mining.party import Party
from discreet.mining.remote import RemoteParty


@runtime_checkable
class HasParty(Protocol):
    """A vault: anything that can stand in as a party."""

    def party(self) -> Party: ...


def party_of(place: Party | HasParty | str, token: str | None = None) -> Party:
    """The party at an address (`http://…`, with the token that its server gave out), of a vault, or as it is."""
    if isinstance(place, str):
        return RemoteParty.at(place, token)
    if isinstance(place, HasParty):
        return place.party()
    if isinstance(place, Party):
        return place
    raise PartyError("a party is a vault with a budget of queries, or the http:// address of one")
