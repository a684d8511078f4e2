"""What every reply says besides its answer: it is nobody else's to keep, and it is what it says that it is."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

YEAR = 365 * 24 * 3600


class Headers:
    """Stands before everything else. A reply that has a word of its own on how long it may be kept is left with it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def said(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Cache-Control", "no-store")
                headers["X-Content-Type-Options"] = "nosniff"
                if scope.get("scheme") == "https":
                    headers["Strict-Transport-Security"] = f"max-age={YEAR}"
            await send(message)

        await self.app(scope, receive, said)
