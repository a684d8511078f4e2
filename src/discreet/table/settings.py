"""What is said of a file behind the question mark of its location: `people.xlsx?sheet=People`."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

from discreet.errors import TableError


def settings_of(location: str, kind: str, known: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The path of a location, and its settings. Raises where one is said that files of this kind have not: `known` says
    what each can be."""
    path, mark, query = location.partition("?")
    found = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True)
    said = dict(found)
    strange = next((name for name in said if name not in known), None)
    if (mark and not said) or strange is not None or len(said) < len(found):
        what = f"{strange}= is not known; " if strange is not None else ""
        raise TableError(f"{path}: {what}{settings_said(kind, known)}")
    return path, said


def settings_said(kind: str, known: Mapping[str, str]) -> str:
    """What can be said of files of a kind, as an error has it."""
    options = ", ".join(f"{name}={words}" for name, words in known.items())
    return f"what can be said of {kind} is {options}" if known else f"nothing can be said of {kind} behind its name"


def lines_above(path: str, said: Mapping[str, str]) -> int:
    """How many lines or rows stand above the one with the names, by the setting `skip`."""
    text = said.get("skip", "0")
    if not text.isdecimal() or len(text) > len("1000000"):
        raise TableError(f"{path}: skip is how many lines stand above the one with the names: skip=4")
    return int(text)
