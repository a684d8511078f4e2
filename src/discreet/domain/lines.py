"""Where a key of a TOML text is set: tomllib keeps no lines, and an error should name one."""

import re
import tomllib

PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
KEY = rf"{PART}(?:[ \t]*\.[ \t]*{PART})*"
HEADER_OR_KEY = re.compile(rf"[ \t]*(?:\[\[?[ \t]*(?P<header>{KEY})[ \t]*\]|(?P<key>{KEY})[ \t]*=)")


def line_of(text: str, path: tuple[str, ...]) -> int:
    """The first line that sets the key at `path`; else that of the innermost table around it; else 1.

    Requires that the text is TOML. A line inside a multi-line string may be taken for a key: the number is for people.
    """
    table: tuple[str, ...] = ()
    nearest, nearest_depth = 1, 0
    for number, line in enumerate(text.split("\n"), start=1):
        found = HEADER_OR_KEY.match(line)
        if found is None:
            continue
        if found["header"]:
            here = table = _parts(found["header"])
        else:
            here = (*table, *_parts(found["key"]))
        depth = min(len(here), len(path))
        if depth > nearest_depth and here[:depth] == path[:depth]:
            nearest, nearest_depth = number, depth
    return nearest


def _parts(key: str) -> tuple[str, ...]:
    """A dotted key's names, without their quotes and escapes."""
    return tuple(name for part in re.findall(PART, key) for name in tomllib.loads(f"{part} = 0"))
