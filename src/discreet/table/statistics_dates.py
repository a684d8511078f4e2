"""Days and moments in files of SPSS, Stata and SAS: numbers, and a format that says what they count and from when.

The numbers are read as they are stored. A value is never made a date of Python's on the way: a moment beyond its
calendar would make the whole file unreadable, where here it is one that lies outside.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Read = Callable[[Numbers], Numbers]

EPOCH = date(1970, 1, 1).toordinal()
SIXTIES = date(1960, 1, 1).toordinal() - EPOCH
"""The day that Stata and SAS count from."""
GREGORIAN = date(1582, 10, 14).toordinal() - EPOCH
"""The day that SPSS counts from."""
DAY = 86_400
SECONDS = pa.timestamp("s")
WEEKS = 52
"""Of every year, in Stata: the last one is longer."""

STATA = re.compile(r"%-?(?:t([cCdwmqhy])|(d))")
SPSS = re.compile(r"([AEJS]?DATE|QYR|MOYR|WKYR)|(DATETIME|YMDHMS)|(M?TIME|DTIME)")
SAS_DAYS = re.compile(
    r"DATE|DAY|DOWNAME|(DDMMYY|MMDDYY|YYMMDD|YYMM|MMYY|YYQ|YYQR)[BCDNPSZ]?|YYMON|MONYY|MONNAME|MONTH|YEAR|QTRR?|"
    r"JULIAN|JULDAY|WEEK[DUVW]?|WEEKDA(Y|TE|TX)|WORDDAT[EX]|(E8601|B8601|IS8601|\$N8601)DA|NLDATE\w*|EUR(DFD|DFW|DFM)\w*"
)
SAS_MOMENTS = re.compile(
    r"DATETIME|DATEAMPM|MDYAMPM|DT(DATE|MONYY|WKDATX|YEAR|YYQC)|(E8601|B8601|IS8601)D[NTXZ]|NLDATM\w*|EURDFDT|DATECOPY"
)
SAS_TIMES = re.compile(r"TIME|HHMM|HOUR|MMSS|TOD|TIMEAMPM|(E8601|B8601|IS8601)T[MXZ]|NLTIM\w*")


@dataclass(frozen=True)
class CountedDays:
    """What the numbers of a column count: the type that they are read as, and how they become it."""

    kind: pa.DataType
    whole: Read
    """Days, or seconds, from 1970; seconds of a time of day. Not a number where there is none."""

    def column(self, numbers: Numbers) -> pa.Array:
        found = np.floor(self.whole(numbers))
        missing = np.isnan(found)
        widest = 2**31 - 1 if pa.types.is_date(self.kind) else 2**62
        bounded = np.clip(np.where(missing, 0, found), -widest, widest).astype(np.int64)
        whole = pa.array(bounded, mask=missing)
        return whole.cast(pa.int32()).cast(self.kind) if pa.types.is_date(self.kind) else whole.cast(self.kind)


def counted(ending: str, written: str) -> CountedDays | None:
    """What numbers with a format count, in a file that ends so; None where they are numbers, or times of day."""
    match ending:
        case ".dta":
            return _by_stata(written)
        case ".sav" | ".zsav" | ".por":
            found = SPSS.fullmatch(_plain(written))
            if found is None or found[3]:
                return None
            seconds = CountedDays(SECONDS, lambda numbers: numbers + GREGORIAN * DAY)
            return seconds if found[2] else CountedDays(pa.date32(), lambda numbers: numbers / DAY + GREGORIAN)
        case _:
            if SAS_MOMENTS.fullmatch(_plain(written)):
                return CountedDays(SECONDS, lambda numbers: numbers + SIXTIES * DAY)
            days = SAS_DAYS.fullmatch(_plain(written))
            return CountedDays(pa.date32(), lambda numbers: np.floor(numbers) + SIXTIES) if days else None


def is_time(ending: str, written: str) -> bool:
    """Whether numbers with a format are seconds of a day."""
    found = SPSS.fullmatch(_plain(written))
    if ending in (".sav", ".zsav", ".por"):
        return bool(found and found[3])
    return ending != ".dta" and bool(SAS_TIMES.fullmatch(_plain(written)))


def time_text(seconds: float) -> str:
    """A time of day as people write it; durations go beyond 24 hours."""
    whole, sign = abs(seconds), "-" if seconds < 0 else ""
    parts = f"{int(whole) // 3600:02d}:{int(whole) % 3600 // 60:02d}:{int(whole) % 60:02d}"
    rest = f"{whole % 1:.6f}"[2:]
    return f"{sign}{parts}.{rest}" if rest.strip("0") and rest != "000000" else f"{sign}{parts}"


def _plain(written: str) -> str:
    """A format without its width."""
    return written.upper().rstrip(".0123456789")


def _by_stata(written: str) -> CountedDays | None:
    found = STATA.match(written)
    if found is None:
        return None
    if found[1] in ("c", "C"):
        return CountedDays(SECONDS, lambda numbers: numbers / 1000 + SIXTIES * DAY)
    periods: dict[str, Read] = {
        "w": lambda n: _months(n // WEEKS * 12) + n % WEEKS * 7,
        "m": _months,
        "q": lambda n: _months(n * 3),
        "h": lambda n: _months(n * 6),
        "y": lambda n: _months((n - 1960) * 12),
    }
    return CountedDays(pa.date32(), periods.get(found[1] or "d", lambda n: np.floor(n) + SIXTIES))


def _months(since: Numbers) -> Numbers:
    """The first day, from 1970, of a month that is counted from January 1960."""
    bounded = np.clip(np.floor(since), -1e7, 1e7)
    there = ~np.isnan(bounded)
    days = (np.where(there, bounded, 0).astype(np.int64) - 120).astype("datetime64[M]").astype("datetime64[D]")
    return np.where(there, days.astype(np.int64), np.nan)
