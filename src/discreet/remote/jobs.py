"""Work that a server does beside its answers."""

import time
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from discreet.errors import EngineError
from discreet.http_json import Json
from discreet.progress import Progress

if TYPE_CHECKING:
    from discreet.replies import JobJson


from discreet.remote.connection import Connection

POLL_SECONDS = 0.2


def wait_for(client: Connection, name: str, told: Json, progress: Progress) -> None:
    """Until a job has ended. Raises EngineError where it did not end well, and says what stands."""
    job = cast("JobJson", told)
    while job["state"] == "running":
        progress(job["doing"], job["done"])
        time.sleep(POLL_SECONDS)
        job = cast("JobJson", client.get(f"/jobs/{quote(name, safe='')}"))
    if job["state"] != "done":
        error = job["error"] or {"kind": "interrupted", "message": "the server ended while it published"}
        stands = "" if job["charge"] is None else f"; charge {job['charge']} stands, publish with charge=…"
        raise EngineError(f"{client.url}: {error['kind']}: {error['message']}{stands}")
