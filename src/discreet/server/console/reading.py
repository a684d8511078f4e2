"""Reading: the answer to a question that an address names, where it costs nothing.

Whoever opens an address spends nothing, whatever it says: the question is asked by an `Asker` in whose name the ledger
charges nothing. It is answered only where `explain` says that it is free, and only to who may ask it: an address
reveals no more to anybody than asking would, and is in the log as that.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from discreet.answer.reply import Answer, Explanation
from discreet.errors import BudgetExceeded, QuotaExceeded
from discreet.server.auth import MAY_ASK
from discreet.server.console.visit import Visit


def is_free(told: Explanation) -> bool:
    """Whether a question is answered for nothing, and with numbers."""
    unanswered = any("unanswered" in aggregate.kinds for aggregate in told.forecasts)
    return told.cost == 0 and told.is_exact and not unanswered


async def free_answer(visit: Visit, sql: str, wish: Mapping[str, Any], told: Explanation | None) -> Answer | None:
    """The answer to a question that was explained, if it is free and this user may ask it; else None."""
    if told is None or visit.user.role not in MAY_ASK or not is_free(told):
        return None
    reader = replace(visit.desk.asker(visit.user), spends=False)

    def read(_: object) -> Answer:
        found = visit.desk.asked_by(reader).ask(sql, **wish)
        assert isinstance(found, Answer)
        return found

    try:
        return await visit.desk.answer(visit.user, "ask", {"sql": sql, **wish}, read)
    except (BudgetExceeded, QuotaExceeded):  # it was free when it was explained, and is not by now
        return None
