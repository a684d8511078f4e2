"""ask, explain: SQL in, noisy answers out; and the counts of a SuLQ database."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from discreet import replies
from discreet.query.subset import subset_from_json
from discreet.server import schema
from discreet.server.auth import User
from discreet.server.desk import FrontDesk
from discreet.server.door import JsonReply, api_router, user_of
from discreet.server.free import FreeAnswers
from discreet.vault.vault import Vault


def routes(desk: FrontDesk) -> APIRouter:
    router, free = api_router("ask"), FreeAnswers()

    @router.post("/ask", response_model=replies.AnswerJson)
    async def ask(asked: schema.QuestionAsked, user: Annotated[User, Depends(user_of)]) -> Response:
        """Answer a SELECT: from what is public where that is sharp enough, else measured with noise, else relaxed."""

        what = asked.model_dump()
        question = repr(what)  # weights are a table, which no key can be

        sent = desk.at_once(user, "ask", what, partial(free.get, question))
        if sent is not None:
            return Response(sent, media_type=JsonReply.media_type)

        def work(vault: Vault) -> Response:
            head = vault.ledger.head
            answer = vault.ask(asked.sql, **asked.wish())
            told = JsonReply(answer)
            # What a quota kept from being measured is this asker's answer alone.
            if not answer.cost and (
                user.quota is None or all(row.kind not in ("relaxed", "unanswered") for row in answer.rows)
            ):
                free.keep(question, head, bytes(told.body))
            return told

        return await desk.answer(user, "ask", what, work)

    @router.post("/explain", response_model=replies.ExplanationJson)
    def explain(asked: schema.QuestionAsked, user: Annotated[User, Depends(user_of)]) -> JsonReply:
        """What an answer would be made from, cost and be worth. Spends nothing."""
        return JsonReply(desk.explain(user, asked.sql, asked.wish()))

    @router.get("/sulq", response_model=replies.PartyJson)
    def sulq() -> JsonReply:
        """A SuLQ database as a party of a mining task."""
        party = desk.vault.party()
        guarantee = {**desk.vault.ledger.guarantee.to_json(), "text": party.guarantee}
        return JsonReply(
            replies.PartyJson(
                people=party.people,
                roster=party.roster,
                trials=party.trials,
                queries_left=party.queries_left,
                guarantee=guarantee,
            )
        )

    @router.post("/sulq/ask", response_model=replies.SubsetCountsJson)
    async def ask_subsets(asked: schema.SubsetsAsked, user: Annotated[User, Depends(user_of)]) -> JsonReply:
        """Count the people of subsets of the roster who meet a predicate: one of the vault's queries each."""
        subsets = [subset_from_json(subset) for subset in asked.subsets]
        what = {"predicate": asked.predicate, "subsets": len(subsets)}
        return await desk.answer(
            user, "sulq ask", what, lambda vault: JsonReply(vault.sulq.ask_all(subsets, asked.predicate))
        )

    return router
