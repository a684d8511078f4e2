"""What a command says that was cut off after its charge: that the charge stands, and how to go on for nothing more."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from discreet.errors import ArchiveError, DiscreetError

if TYPE_CHECKING:
    from discreet.vault.vault import Vault


@contextmanager
def resumable(vault: "Vault", again: Callable[[int], str]) -> Iterator[None]:
    """Say how to go on, whatever happens after the charge: `again` has the words for what to do, by its number."""
    before = vault.ledger.head.seq
    try:
        yield
    except (DiscreetError, KeyboardInterrupt) as error:
        charges = [entry.seq for entry in vault.ledger.entries(before) if entry.kind == "charge"]
        if not charges:
            raise
        way_on = f"charge {charges[-1]} stands: {again(charges[-1])} goes on {_for_how_much(vault, charges[-1])}"
        if isinstance(error, KeyboardInterrupt):
            raise ArchiveError(f"interrupted; {way_on}") from None
        raise type(error)(f"{error}; {way_on}") from None


def _for_how_much(vault: "Vault", charge: int) -> str:
    from discreet.cube.runs import run_holding

    found = vault.ledger.charge_at(charge)
    in_steps = found is not None and run_holding(found, vault.ledger) is not None
    return "with what is left of its budget" if in_steps else "without a further one"
