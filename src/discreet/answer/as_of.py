"""After an erasure: a statement whose numbers were all released of an earlier snapshot is repeated as of that one.

It is so where it would have to be bought, or relaxed, of the snapshot as it is now; and all of its numbers are of one
snapshot, as they were measured, so that none is made of answers from before and after. Nothing is spent: what is read
is public. After a refresh nothing is repeated: that may be another table. [docs/explain/privacy.md, After an erasure]
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.answer.ask import explain
from discreet.answer.desk import Desk
from discreet.answer.known import Known
from discreet.answer.policy import Wish
from discreet.answer.reply import Answer, Explanation
from discreet.errors import DiscreetError
from discreet.sql.question import Question

if TYPE_CHECKING:
    from discreet.sql.split import Statement, Stepwise

TO_BE_HAD = {"measured", "relaxed", "unanswered"}
"""Kinds of numbers that are not there as they were asked for."""


def repeating(asked: "Question | Statement | Stepwise", wish: Wish, desk: Desk, earlier: Sequence[Known]) -> Desk:
    """The desk that a statement is answered from: the one that it was brought to, or one of an `earlier` snapshot, the
    latest of which every number of it was released. Those in steps ask where noise leads: they are asked anew."""
    if not earlier:
        return desk
    from discreet.sql.split import Stepwise  # a parser, which whoever makes a vault does not need

    if isinstance(asked, Stepwise):
        return desk
    now = _foreseen(asked, wish, desk)
    if now is not None and not now.cost and TO_BE_HAD.isdisjoint(_kinds(now)):
        return desk
    for known in earlier:
        then = replace(desk, known=known)
        found = _foreseen(asked, wish, then)
        if found is not None and not found.cost and _kinds(found) == {"repeated"}:
            return then
    return desk


def said_of(answer: Answer, desk: Desk) -> Answer:
    """An answer that says of which snapshot it is, where that is an earlier one."""
    era = desk.known.era
    if era is None:
        return answer
    return replace(answer, notes=(*answer.notes, as_of_words(desk)), as_of=era.snapshot.number)


def foreseen_of(explanation: Explanation, desk: Desk) -> Explanation:
    """The same of what an answer would be."""
    if desk.known.era is None:
        return explanation
    return replace(explanation, notes=(*explanation.notes, as_of_words(desk)))


def as_of_words(desk: Desk) -> str:
    assert desk.known.era is not None
    number = desk.known.era.snapshot.number
    return (
        f"as of snapshot {number}: people were taken out since, and this was released before; it goes with other "
        f"answers of snapshot {number} alone, and with none of later ones; asked for with less noise it is measured "
        "anew"
    )


def _foreseen(asked: "Question | Statement", wish: Wish, desk: Desk) -> Explanation | None:
    """What asking would do; None where it would be refused."""
    from discreet.answer.foreseen_statement import explain_statement

    try:
        return explain(asked, wish, desk) if isinstance(asked, Question) else explain_statement(asked, wish, desk)
    except DiscreetError:
        return None


def _kinds(explanation: Explanation) -> set[str]:
    return {kind for forecast in explanation.forecasts for kind, many in forecast.kinds.items() if many}
