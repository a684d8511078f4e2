"""A statement over several tables of a vault: read, and answered or explained with what each table is answered with."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.answer.desk import Desk
from discreet.answer.linked import ask_linked, explain_linked
from discreet.answer.policy import Wish
from discreet.answer.reply import Answer, Explanation
from discreet.errors import UnsupportedQuery
from discreet.release.purchase import Purchase
from discreet.sql.split import Statement, split_over
from discreet.vault.lookups import lookups_noted, read_lookups

if TYPE_CHECKING:
    from discreet.vault.public import PublicDesk
    from discreet.vault.vault import Vault


def ask_over(overs: "Sequence[Vault]", sql: str, wish: Wish, relaxing: Mapping[str, object]) -> Answer:
    """Answer a statement over these tables; what each buys is charged for it."""
    purchases = {over.domain.name: Purchase(over.gate, over.policy.limits) for over in overs}
    return ask_linked(_read(overs, sql), wish, _desks(overs, relaxing), purchases)


def explain_over(overs: "Sequence[PublicDesk]", sql: str, wish: Wish, relaxing: Mapping[str, object]) -> Explanation:
    """What that would cost and be worth. Spends nothing."""
    return explain_linked(_read(overs, sql), wish, _desks(overs, relaxing))


def _read(overs: "Sequence[PublicDesk]", sql: str) -> Statement:
    first = overs[0]
    return split_over(sql, [over.domain for over in overs], read_lookups(first.path, lookups_noted(first.ledger)))


def _desks(overs: "Sequence[PublicDesk]", relaxing: Mapping[str, object]) -> dict[str, Desk]:
    given = [name for name, value in relaxing.items() if value]
    if given:
        raise UnsupportedQuery(f"no number of a statement over several tables is relaxed: leave out {given[0]}")
    return {over.domain.name: over._desk for over in overs}
