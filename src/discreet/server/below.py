"""An application below a path of the server: behind a proxy at a sub-path, or one vault of many.

The application itself stands at `/` as ever: its path is cut before it sees a request, and redirects get it back. Its
pages put it before their own addresses (`console/page.py`).
"""

import re

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import VaultError

PATH = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._~-]*)+")


def require_path(text: str) -> str:
    """A path that a service may stand below, without its last slash; "" and / are the server's root."""
    path = text.rstrip("/")
    if path and not PATH.fullmatch(path):
        raise VaultError(f"{text!r} is no path to serve below; it looks like /statistics or /offices/health")
    return path


class Below:
    """Hands on what comes for a path below `root`, and nothing else."""

    def __init__(self, app: ASGIApp, root: str) -> None:
        self.app, self.root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if path == self.root:
            await RedirectResponse(f"{self.root}/", 307)(scope, receive, send)
            return
        if not path.startswith(f"{self.root}/"):
            await PlainTextResponse(f"nothing is here; see {self.root}/\n", 404)(scope, receive, send)
            return

        async def said(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("location", "").startswith("/"):
                    headers["location"] = f"{self.root}{headers['location']}"
            await send(message)

        # What becomes of a request is noted in its scope, and whoever stands before this reads it there.
        scope["path"] = path.removeprefix(self.root)
        scope.pop("raw_path", None)
        await self.app(scope, receive, said)
