"""An answer to take along: CSV, Parquet, JSON, or a picture of its intervals. Only what is free is given."""

import io
from collections.abc import Callable

from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from discreet.answer.reply import Answer
from discreet.errors import BudgetExceeded, UnsupportedQuery
from discreet.server.console.answered import FORMS
from discreet.server.console.ask import explained, question_of, wish_of
from discreet.server.console.page import with_headers
from discreet.server.console.reading import free_answer
from discreet.server.console.visit import Visit
from discreet.server.door import JsonReply

MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
}


async def give(visit: Visit) -> Response:
    """The file of the answer that the address names."""
    form = visit.first("format", "csv")
    if form not in FORMS:
        raise UnsupportedQuery(f"an answer is a file as {', '.join(FORMS.values())}")
    sql, wish = question_of(visit), wish_of(visit)
    told = await run_in_threadpool(explained, visit, sql)
    found = await free_answer(visit, sql, wish, told)
    if found is None:
        raise BudgetExceeded("this answer would have to be bought, and a download spends nothing: ask first")
    body = await run_in_threadpool(WRITERS[form], found)
    file = {"Content-Disposition": f'attachment; filename="{visit.vault.domain.name}.{form}"'}
    return with_headers(Response(body, media_type=MEDIA[form], headers=file))


def _parquet(found: Answer) -> bytes:
    import pyarrow.parquet as pq  # takes long to import, and few take a table along

    out = io.BytesIO()
    pq.write_table(found.to_arrow(), out)
    return out.getvalue()


def _picture(found: Answer, form: str) -> bytes:
    out = io.BytesIO()
    found.plot().savefig(out, format=form)
    return out.getvalue()


WRITERS: dict[str, Callable[[Answer], bytes]] = {
    "csv": lambda found: found.to_csv().encode(),
    "parquet": _parquet,
    "json": lambda found: bytes(JsonReply(found).body),
    "png": lambda found: _picture(found, "png"),
    "svg": lambda found: _picture(found, "svg"),
}
