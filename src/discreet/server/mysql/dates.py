"""MySQL's functions of dates → the standard's, as the vault reads them: tools group and filter by them.

Each takes what it is given once, so that a statement grows no faster than it is long. The session's time is UTC. A
function that would mean something else, such as WEEK with a mode, is refused.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from discreet.errors import UnsupportedQuery
from discreet.server.mysql.text import Token, TokenList, plain_tokens, quoted, standard

MOST_DEPTH = 60
"""Functions and intervals within each other."""
MOST_OF_INTERVAL = 200
"""Tokens between INTERVAL and its unit."""
FORMATS = {"%i": "%M", "%s": "%S", "%S": "%S", "%T": "%H:%M:%S", "%c": "%-m", "%e": "%-d", "%k": "%-H", "%l": "%-I",
           "%h": "%I", "%I": "%I", "%M": "%B", "%W": "%A", "%r": "%I:%M:%S %p", "%%": "%%",
           **{same: same for same in ("%Y", "%y", "%m", "%d", "%H", "%f", "%b", "%a", "%j", "%p", "%w")}}  # fmt: skip
"""What a letter after % is called elsewhere (strftime)."""
OF_DAY = frozenset(("%H", "%i", "%s", "%S", "%T", "%k", "%l", "%h", "%I", "%f", "%p", "%r"))
UNITS = ("microsecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year")
SUNDAY = re.compile(r"concat\s*\(\s*yearweek\s*\((.+)\)\s*,\s*' sunday'\s*\)", re.IGNORECASE | re.DOTALL)
"""How Metabase writes the Sunday that a week begins with."""
WEEK_FORMAT = "%X%V %W"
NOW = ("now", "current_timestamp", "localtime", "localtimestamp", "sysdate", "utc_timestamp")
TODAY = ("curdate", "current_date", "utc_date")
NO_ZONE = ("SYSTEM", "UTC", "+00:00")


def standard_text(
    statement: TokenList, database: str, tables: Collection[str] = (), now: datetime | None = None
) -> str:
    """A statement as the standard writes it, about the tables of a database; one of `tables` may be called as that
    is."""
    return _Writer(plain_tokens(statement, database, tables), now or datetime.now(UTC)).whole()


@dataclass
class _Writer:
    tokens: list[Token]
    now: datetime
    depth: int = 0

    def whole(self) -> str:
        self.closing: dict[int, int] = {}
        opened: list[int] = []
        for place, token in enumerate(self.tokens):
            if token.is_sign("("):
                opened.append(place)
            elif token.is_sign(")") and opened:
                self.closing[opened.pop()] = place
        self.said = [place for place, token in enumerate(self.tokens) if token.kind != "space"]
        self.order = {place: number for number, place in enumerate(self.said)}
        return self.text(0, len(self.tokens))

    def text(self, start: int, stop: int) -> str:
        written, place = [], start
        while place < stop:
            piece, place = self._piece(place, stop)
            written.append(piece)
        return "".join(written)

    def _piece(self, place: int, stop: int) -> tuple[str, int]:
        """What stands in the place of a token, and where to go on."""
        token = self.tokens[place]
        if token.kind != "word" or self._is_named(place):
            return standard(token), place + 1
        after = self._beside(place, 1)
        opening = after if after == place + 1 and after in self.closing else None
        if opening is not None and (end := self.closing[opening]) < stop:
            if token.value in FUNCTIONS:
                return self._called(FUNCTIONS[token.value], opening, end), end + 1
            if token.value in (*NOW, *TODAY) and self._beside(opening, 1) == end:
                return self._present(token.value), end + 1
        elif token.value in ("current_date", "current_timestamp"):
            return self._present(token.value), place + 1
        elif token.value == "timestamp" and after is not None and self.tokens[after].kind == "string":
            return _moment(standard(self.tokens[after])), after + 1
        if token.value == "interval":
            return self._interval(place + 1, stop)
        return ("//" if token.value == "div" else token.text), place + 1

    def _called(self, known: "Function", opening: int, end: int) -> str:
        self._enter()
        starts = [opening + 1, *(place + 1 for place in self._commas(opening + 1, end))]
        given = [self.text(start, stop - 1).strip() for start, stop in zip(starts, [*starts[1:], end + 1], strict=True)]
        self.depth -= 1
        return known([] if given == [""] else given, self)

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise UnsupportedQuery(f"more than {MOST_DEPTH} functions are within each other; ask something simpler")

    def _commas(self, start: int, stop: int) -> list[int]:
        found, place = [], start
        while place < stop:
            if self.tokens[place].is_sign(","):
                found.append(place)
            place = self.closing.get(place, place) + 1
        return found

    def _interval(self, start: int, stop: int) -> tuple[str, int]:
        """INTERVAL n UNIT with brackets around what n is."""
        place = start
        while place < min(stop, start + MOST_OF_INTERVAL):
            token = self.tokens[place]
            after = self._beside(place, 1) if place in self.order else None
            is_unit = token.is_word(*UNITS) and place > start + 1
            if is_unit and (after is None or after >= stop or not self.tokens[after].is_sign("(")):
                self._enter()
                many = self.text(start, place).strip()
                self.depth -= 1
                many = many.strip("'") if many.startswith("'") else many
                return f"INTERVAL ({many}) {token.text}", place + 1
            if token.is_sign(",") or token.is_sign(")"):
                break
            place = self.closing.get(place, place) + 1
        return "INTERVAL", start

    def _present(self, name: str) -> str:
        if name in TODAY:
            return f"CAST('{self.now:%Y-%m-%d}' AS DATE)"
        return _moment(f"'{self.now:%Y-%m-%d %H:%M:%S}'")

    def _beside(self, place: int, step: int) -> int | None:
        """The next token that is no space, or the one before."""
        number = self.order[place] + step
        return self.said[number] if 0 <= number < len(self.said) else None

    def _is_named(self, place: int) -> bool:
        """Whether a word is a name: of a table or its column, or one that is given."""
        before, after = self._beside(place, -1), self._beside(place, 1)
        is_end = before is not None and (self.tokens[before].is_sign(".") or self.tokens[before].is_word("as"))
        return is_end or (after is not None and self.tokens[after].is_sign("."))


Function = Callable[[list[str], _Writer], str]


def _moment(text: str) -> str:
    """A text that says a moment, as one; whatever else is given as it is."""
    if not text.startswith("'"):
        return text
    if ":" not in text:
        return f"CAST({text} AS DATE)"
    return f"STRPTIME({text}, '%Y-%m-%d %H:%M:%S{'.%f' if '.' in text else ''}')"


def _format(text: str) -> str:
    """A format of MySQL's as strftime has it."""
    unknown = [found for found in re.findall("%.", text) if found not in FORMATS]
    if unknown or not text.startswith("'"):
        what = unknown[0] if unknown else "one that is no text"
        raise UnsupportedQuery(f"the format {what} is not supported; supported: {', '.join(sorted(FORMATS))}")
    return re.sub("%.", lambda found: FORMATS[found[0]], text)


def _of(count: int, write: Callable[..., str]) -> Function:
    """A function of so many arguments."""

    def written(given: list[str], _: _Writer) -> str:
        if len(given) != count:
            raise UnsupportedQuery(f"a function of dates takes {count} argument{'s' * (count > 1)} here")
        return write(*given)

    return written


def _shifted(sign: str) -> Function:
    def written(given: list[str], _: _Writer) -> str:
        if len(given) != 2:
            raise UnsupportedQuery("DATE_ADD and DATE_SUB take a date and an INTERVAL")
        many = given[1] if given[1].upper().startswith("INTERVAL") else f"INTERVAL ({given[1]}) DAY"
        return f"({_moment(given[0])} {sign} {many})"

    return written


def _read_date(text: str, form: str) -> str:
    sunday = SUNDAY.fullmatch(text)
    if form == quoted(WEEK_FORMAT) and sunday is not None:
        return f"CAST(DATE_TRUNC('week', {sunday[1]} + INTERVAL 1 DAY) - INTERVAL 1 DAY AS DATE)"
    read = f"STRPTIME({text}, {_format(form)})"
    return read if OF_DAY & set(re.findall("%.", form)) else f"CAST({read} AS DATE)"


def _from_seconds(seconds: str) -> str:
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(seconds))
    except (ValueError, OverflowError):
        raise UnsupportedQuery("FROM_UNIXTIME takes a whole number of seconds here") from None
    return _moment(f"'{moment:%Y-%m-%d %H:%M:%S}'")


def _to_seconds(given: list[str], writer: _Writer) -> str:
    if not given:
        return str(int(writer.now.timestamp()))
    return _of(1, lambda date: f"DATE_DIFF('second', DATE '1970-01-01', {_moment(date)})")(given, writer)


def _week(given: list[str], _: _Writer) -> str:
    if len(given) == 1 or (len(given) == 2 and given[1] == "0"):
        return f"CAST(STRFTIME({given[0]}, '%U') AS INTEGER)"
    if len(given) == 2 and given[1] == "3":
        return f"WEEK({given[0]})"
    raise UnsupportedQuery("WEEK takes a date and the mode 0 or 3 here: weeks from Sunday, or those of ISO 8601")


def _day_of_year(year: str, day: str) -> str:
    first = f"MAKE_DATE({year}, 1, 1)"
    return first if day == "1" else f"CAST({first} + INTERVAL ({day} - 1) DAY AS DATE)"


FUNCTIONS: dict[str, Function] = {
    "date": _of(1, lambda date: f"CAST({date} AS DATE)"),
    "timestamp": _of(1, _moment),
    "dayofmonth": _of(1, lambda date: f"DAY({date})"),
    "dayofweek": _of(1, lambda date: f"(DAYOFWEEK({date}) + 1)"),
    "weekday": _of(1, lambda date: f"(ISODOW({date}) - 1)"),
    "weekofyear": _of(1, lambda date: f"WEEK({date})"),
    "week": _week,
    "makedate": _of(2, _day_of_year),
    "date_add": _shifted("+"),
    "adddate": _shifted("+"),
    "date_sub": _shifted("-"),
    "subdate": _shifted("-"),
    "datediff": _of(2, lambda end, start: f"DATE_DIFF('day', {_moment(start)}, {_moment(end)})"),
    "date_format": _of(2, lambda date, form: f"STRFTIME({date}, {_format(form)})"),
    "str_to_date": _of(2, _read_date),
    "from_unixtime": _of(1, _from_seconds),
    "unix_timestamp": _to_seconds,
}
"""What each becomes. Of others the vault knows by name those that mean the same to it: YEAR, QUARTER, LAST_DAY, …"""


def convert_zone(moment: object, from_: object, to: object) -> str | None:
    """MySQL's CONVERT_TZ, where no zones are installed but the server's own."""
    return str(moment) if moment is not None and from_ in NO_ZONE and to in NO_ZONE else None


def time_between(end: object, start: object) -> str | None:
    """MySQL's TIMEDIFF of two moments."""
    try:
        seconds = int((datetime.fromisoformat(str(end)) - datetime.fromisoformat(str(start))).total_seconds())
    except (ValueError, TypeError):
        return None
    minutes, second = divmod(abs(seconds), 60)
    return f"{'-' * (seconds < 0)}{minutes // 60:02}:{minutes % 60:02}:{second:02}"


def time_as(time: object, form: object) -> str | None:
    """MySQL's TIME_FORMAT, of what it has for hours, minutes and seconds."""
    found = re.fullmatch(r"(-?)(\d+):(\d\d):(\d\d)", str(time))
    if found is None:
        return None
    parts = {"%H": found[1] + found[2], "%i": found[3], "%s": found[4], "%S": found[4]}
    return re.sub("%[HisS]", lambda part: parts[part[0]], str(form))
