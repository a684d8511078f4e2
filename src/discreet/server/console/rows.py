"""Rows: files of synthetic rows, what they are good for and what not, and how far each is from what was released."""

from fastapi.responses import Response

from discreet.errors import NotFound
from discreet.server.console.visit import Visit


def show(visit: Visit) -> Response:
    """The page: all files, and one of them in full."""
    names = visit.shelf.rows_names()
    chosen = visit.request.path_params.get("name", names[-1] if names else None)
    if chosen is None:
        raise NotFound("no synthetic rows are published here; `discreet rows publish`, or POST /rows/NAME, draws some")
    about = visit.shelf.about_rows(chosen)
    try:
        checked = visit.shelf.checked_rows(chosen)
    except NotFound:
        checked = None  # its cube is not on this shelf
    return visit.page("rows.html", rows_name=chosen, names=names, about=about, checked=checked)
