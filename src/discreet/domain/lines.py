"""Where a key of a TOML text is set: tomllib keeps no lines, and an error should name one."""

import re
import tomllib

PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\]|\\.)*+"|'[^']*+')"""
KEY = rf"{PART}(?:[ \t]*\.[ \t]*{PART})*+"
"""Nothing of it is given back: a line of thousands of letters is read once."""
HEADER_OR_KEY = re.compile(rf"[ \t]*(?:\[\[?[ \t]*(?P<header>{KEY})[ \t]*\]|(?P<key>{KEY})[ \t]*=)")


TOKEN = re.compile(rf"""(?P<key>{KEY})(?P<set>[ \t]*=)?|(?P<brace>[{{}}])|\#.*""")
"""What tells where a key of an inline table stands: keys and braces. Values that look like keys are passed over, so are
comments."""


def place_of(text: str, path: tuple[str, ...]) -> tuple[int, int | None]:
    """The first line that sets the key at `path`; else that of the innermost table around it; else 1. With it the
    column, where an inline table sets the key in the middle of a line.

    Requires that the text is TOML. A line inside a multi-line string may be taken for a key: the number is for people.
    """
    table: tuple[str, ...] = ()
    nearest: tuple[int, int | None] = (1, None)
    nearest_depth = 0
    for number, line in enumerate(text.split("\n"), start=1):
        found = HEADER_OR_KEY.match(line)
        if found is None:
            continue
        if found["header"]:
            here = table = _parts(found["header"])
        else:
            here = (*table, *_parts(found["key"]))
        inner, column = _inline(line[found.end() :], here, path) if found["key"] else (0, None)
        depth = min(max(len(here), inner), len(path))
        if depth > nearest_depth and here[:depth] == path[: min(len(here), depth)]:
            nearest, nearest_depth = (number, column and found.end() + column), depth
    return nearest


def _inline(line: str, table: tuple[str, ...], path: tuple[str, ...]) -> tuple[int, int | None]:
    """How deep on the way to `path` the inline tables behind a key lead, and the column of the key that is deepest."""
    around: list[tuple[str, ...]] = []
    here, deepest, column = table, len(table), None
    for found in TOKEN.finditer(line):
        if found["brace"] == "{":
            around.append(here)
        elif found["brace"] and around:
            around.pop()
        elif found["set"] and around:
            here = (*around[-1], *_parts(found["key"]))
            if deepest < len(here) and here == path[: len(here)]:
                deepest, column = len(here), found.start() + 1
    return deepest, column


def _parts(key: str) -> tuple[str, ...]:
    """A dotted key's names, without their quotes and escapes."""
    return tuple(name for part in re.findall(PART, key) for name in tomllib.loads(f"{part} = 0"))
