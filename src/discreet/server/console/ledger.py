"""Releases and ledger: everything that was ever charged and released, in order, newest first."""

from itertools import islice
from typing import Any

from fastapi.responses import Response

from discreet.domain.domain import Domain
from discreet.errors import NotFound
from discreet.query.query import Quantile
from discreet.release.release import Release, label_names
from discreet.replies import EntryJson
from discreet.server.console.table import BarLine, BarTable, table_of
from discreet.server.console.visit import Visit
from discreet.server.names import entry_for

ENTRIES = 50
"""Entries on one page."""
MOST_LINES = 60
"""Lines of one measurement on one page."""
MOST_MEASURED = 6
"""Measurements of one release on one page: a cube may have thousands."""


def show_entries(visit: Visit) -> Response:
    """The journal, page by page."""
    head = visit.vault.ledger.head
    last = visit.number("before", head.seq, head.seq)
    first = max(last - ENTRIES, 0)
    entries = [entry_for(visit.user, entry) for entry in islice(visit.vault.entries(first), last - first)]
    return visit.page("ledger.html", entries=entries[::-1], head=head, first=first, last=last, per_page=ENTRIES)


def show_releases(visit: Visit) -> Response:
    """What was released, page by page: the newest entries that are charges with their answers."""
    head = visit.vault.ledger.head.seq
    last = visit.number("before", head, head)
    found: list[dict[str, Any]] = []
    first = last
    while first > 0 and len(found) < ENTRIES:
        first = max(first - ENTRIES, 0)
        entries = islice(visit.vault.entries(first), min(last, first + ENTRIES) - first)
        charges = [entry for entry in entries if entry["kind"] == "charge"]
        found += [_line(visit, entry_for(visit.user, entry)) for entry in reversed(charges)]
    return visit.page("releases.html", releases=found, first=first, last=last, head=head)


def _line(visit: Visit, entry: EntryJson) -> dict[str, Any]:
    answered = visit.vault.ledger.recorded(entry["seq"]) is not None
    asker = entry["body"].get("by", "")
    return {"charge": entry["seq"], "at": entry["at"], "what": entry["what"], "answered": answered, "asker": asker}


def show_release(visit: Visit) -> Response:
    """One release: each measurement with its numbers."""
    text = visit.request.path_params["charge"]
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise NotFound("a release goes by the number of its charge")
    if visit.vault.ledger.recorded(int(text)) is None:
        raise NotFound(f"there is no release {text}, or not yet")
    release = visit.vault.release(int(text))
    over = visit.vault if release.table is None else visit.vault.table(release.table)
    texts = over.plan_text(release.plan)
    return visit.page(
        "release.html",
        release=release,
        measured=list(zip(texts, _tables(over.domain, release), strict=False)),
        hidden=max(len(texts) - MOST_MEASURED, 0),
    )


def _tables(domain: Domain, release: Release) -> list[BarTable]:
    """The numbers of the first measurements; a quantile's as they are, for they have no interval."""
    tables = []
    for noisy in release.answers[:MOST_MEASURED]:
        query = noisy.measurement.query
        column = "code" if isinstance(query, Quantile) else type(query).__name__.lower()
        cells = islice(noisy.rows(domain), MOST_LINES)
        lines = [BarLine(row.labels, row.value, row.low, row.high) for row in cells]
        tables.append(table_of(label_names(query), column, lines, MOST_LINES))
    return tables
