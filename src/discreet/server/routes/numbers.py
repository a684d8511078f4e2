"""metrics: the server's numbers, for Prometheus."""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import PlainTextResponse, Response

from discreet.server.auth import User
from discreet.server.desk import FrontDesk
from discreet.server.door import api_router, user_of
from discreet.server.metrics import MEDIA_TYPE, Metrics
from discreet.server.routes.users import require_overseeing


def routes(desk: FrontDesk, metrics: Metrics) -> APIRouter:
    router = api_router("metrics")

    @router.get("/metrics", response_class=PlainTextResponse)
    def told(caller: Annotated[User, Depends(user_of)]) -> Response:
        """Requests, how long they took, refusals, what waits, and the budget. For custodians and auditors."""
        require_overseeing(caller, "what the server counts")
        text = metrics.text(desk.vault.budget(), {"discreet_requests_waiting": desk.shares.waiting()})
        return Response(text, media_type=MEDIA_TYPE)

    return router
