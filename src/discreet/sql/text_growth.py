"""How long the texts are that an expression may make: a bound, from the syntax tree alone.

REPLACE(REPLACE('aaaaaaaaaa', 'a', 'aaaaaaaaaa'), …) makes ten times the text with every step. An engine makes all of it
before it looks at its clock, or counts its memory.
"""

from collections.abc import Iterator

from sqlglot import exp

from discreet.errors import UnsupportedQuery
from discreet.sql.syntax import place_of

MOST_CHARACTERS = 100_000
MOST_IN_LINE = 4 * MOST_CHARACTERS
"""Of all texts in a line: an engine makes, and hands over, thousands of lines at once."""
COLUMN = 100
"""Characters that a column of a table is taken to have. Where a domain's own labels have more, the bound is as much
higher."""
LONGEST_LIST = 10_000
"""Characters of a text that STRING_AGG makes: of longer ones it is said that they are."""
SOURCES = ("from_", "joins", "laterals")
FIRST_PARTS = ("with_", *SOURCES)
"""Parts of a SELECT whose columns the others may name."""


def check_texts(tree: exp.Expression) -> None:
    """Refuse a statement whose texts may become longer than MOST_CHARACTERS, before it is run."""
    _Bound().of(tree)


class _Bound:
    """Characters at most. What a name stands for may be any expression that was met before it."""

    def __init__(self) -> None:
        self.widest = COLUMN
        self.longest = COLUMN
        """Line: the texts of one, all together."""

    def of(self, node: exp.Expression) -> int:
        parts = [(part, self.of(child)) for part, child in _in_order(node)]
        found = _grown(node, parts, self.widest)
        line = self._line(node, parts) if isinstance(node, exp.Select) else 0
        if found > MOST_CHARACTERS or line > MOST_IN_LINE:
            most = f"{MOST_CHARACTERS:,} characters" if found > MOST_CHARACTERS else f"{MOST_IN_LINE:,} in a line"
            raise UnsupportedQuery(
                f"the statement may make texts of more than {most}{place_of(node)}; make shorter ones"
            )
        if isinstance(node, exp.Alias | exp.Query):
            self.widest = max(self.widest, found)
        self.longest = max(self.longest, line)
        return found

    def _line(self, select: exp.Select, parts: list[tuple[str, int]]) -> int:
        """The texts of one line. A star has all columns of what is read, which have no more than any line before."""
        stars, sources = sum(bool(one.is_star) for one in select.expressions), sum(part in SOURCES for part, _ in parts)
        return sum(size for part, size in parts if part == "expressions") + stars * sources * self.longest


def _in_order(node: exp.Expression) -> Iterator[tuple[str, exp.Expression]]:
    """The children, each with the name of its part; those first that others may name."""
    for part in sorted(node.args, key=lambda part: part not in FIRST_PARTS):
        value = node.args[part]
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expression):
                yield part, child


def _grown(node: exp.Expression, parts: list[tuple[str, int]], widest: int) -> int:
    sizes = [size for _, size in parts]
    largest, replacement = (
        max(sizes, default=0),
        max((size for part, size in parts if part == "replacement"), default=0),
    )
    match node:
        case exp.Literal():
            return len(node.this)
        case exp.Column():
            return widest
        case exp.GroupConcat():
            return LONGEST_LIST
        case exp.ConcatWs():
            return sum(sizes) + len(sizes) * sizes[0]
        case exp.DPipe() | exp.Concat():
            return sum(sizes)
        case exp.Replace():
            return sizes[0] * max(replacement, 1)
        case exp.RegexpReplace():
            return (sizes[0] + 1) * (2 * replacement + 1)  # with what it refers back to
        case exp.TimeToStr():
            return COLUMN * largest
        case exp.Levenshtein():
            return sizes[0] * max(sizes[1:], default=1)  # steps, which the engine takes in one go
    return largest
