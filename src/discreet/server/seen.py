"""The server seen from outside: each request is counted, is a line of the access log where there is one, and leaves
what became of it in the audit log."""

import json
import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import TooManyRequests
from discreet.http_json import API
from discreet.private import private_file
from discreet.server.log import RequestOrigin, log_denied, log_outcome, origin
from discreet.server.metrics import Metrics
from discreet.server.pace import Bucket

REFUSED = "discreet.refused"
"""Where a request's scope has the kind of the error that it was refused with."""
LEFT = 499
"""The status of a request whose client went before its reply: nobody was told it."""
FAILED = 500
DENIED = (401, 403)
NAMELESS = 10.0
"""Lines a second of people without a token: they cannot fill the log."""


def _route(scope: Scope) -> str:
    """Which of the server's routes it was, as it is written there: a client cannot make new ones up."""
    path = getattr(scope.get("route"), "path", None)
    if path is None:
        return "other"
    # A route of the API does not know what it stands under.
    return path if path.startswith(API) or not scope["path"].startswith(f"{API}/") else f"{API}{path}"


class Seen:
    """Stands before every other part, and sees whom they let in and what they reply."""

    def __init__(self, app: ASGIApp, home: Path, metrics: Metrics, access_log: Path | None, root: str = "") -> None:
        self.app, self.home, self.metrics, self.access_log, self.root = app, home, metrics, access_log, root
        self._nameless = Bucket(NAMELESS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        client = scope.get("client")
        come, began = RequestOrigin(client[0] if client else ""), time.monotonic()
        status, size = LEFT, 0

        async def counted(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            size += len(message.get("body", b""))
            await send(message)

        before = origin.set(come)
        try:
            await self.app(scope, receive, counted)
        except ClientDisconnect:
            raise
        except Exception:
            status = FAILED  # whatever stands before this part replies so
            raise
        finally:
            origin.reset(before)
            self._tell(scope, come, status, size, time.monotonic() - began)

    def _tell(self, scope: Scope, come: RequestOrigin, status: int, size: int, seconds: float) -> None:
        user, refused = getattr(scope.get("user"), "name", None), scope.get(REFUSED)
        method, path = scope["method"], f"{self.root}{scope['path']}"
        self.metrics.count(method, _route(scope), status, seconds, refused)
        outcome = refused or ("answered" if status < 400 else "the client has gone" if status == LEFT else str(status))
        log_outcome(self.home, come, outcome)
        if status in DENIED and self._is_told(user):
            log_denied(self.home, come, user, outcome, {"method": method, "path": path, "status": status})
        if self.access_log is not None:
            self._append({"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "address": come.address,
                          "user": user, "method": method, "path": path, "status": status, "bytes": size,
                          "seconds": round(seconds, 6), "id": come.id})  # fmt: skip

    def _is_told(self, user: str | None) -> bool:
        try:
            if user is None:
                self._nameless.take("")
        except TooManyRequests:
            return False
        return True

    def _append(self, line: dict[str, Any]) -> None:
        """A line at the end of the access log, which is opened anew each time: others may rotate it. A full disk stops
        this log, and nothing else."""
        assert self.access_log is not None
        with suppress(OSError):
            file = private_file(self.access_log, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(file, f"{json.dumps(line, ensure_ascii=False)}\n".encode())
            finally:
                os.close(file)
