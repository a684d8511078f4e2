"""Glossary: the words of the pages."""

from fastapi.responses import Response

from discreet.server.console.visit import Visit
from discreet.server.console.words import WORDS


def show(visit: Visit) -> Response:
    return visit.page("glossary.html", entries=sorted(WORDS.items(), key=lambda entry: entry[0].casefold()))
