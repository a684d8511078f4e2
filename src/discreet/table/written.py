"""Values of Python as the text that writes them: for sources in which one column can hold several types."""

from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import Decimal

import pyarrow as pa


def written(value: object) -> bytes | None:
    """The one text of a value: whole numbers without a point, true and false, dates as 2026-01-31. NaN is missing."""
    match value:
        case None:
            return None
        case bytes():
            return value
        case str():
            return value.encode(errors="surrogatepass")
        case bool():
            return b"true" if value else b"false"
        case float():
            text = number_text(value)
            return None if text is None else text.encode()
        case datetime():
            midnight = value.time() == time() and value.tzinfo is None
            return (value.date().isoformat() if midnight else value.isoformat(sep=" ")).encode()
        case date():
            return value.isoformat().encode()
    return str(value).encode()


def number_text(number: float | Decimal) -> str | None:
    """The one text of a number: whole ones without a point. None where it is none."""
    if number != number:
        return None
    if isinstance(number, Decimal):
        return f"{number.to_integral_value() if number == number.to_integral_value() else number.normalize():f}"
    return str(int(number)) if number.is_integer() and abs(number) < 2**63 else repr(number)


def text_array(values: Iterable[bytes | None]) -> pa.Array:
    """Bytes under the type of text; nothing looks at whether they are UTF-8."""
    raw = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers(), raw.null_count)
