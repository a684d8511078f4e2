"""Values of Python as the text that writes them: for sources in which one column can hold several types."""

from collections.abc import Iterable
from datetime import date, datetime, time

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
            if value != value:
                return None
            whole = value.is_integer() and abs(value) < 2**63
            return (str(int(value)) if whole else repr(value)).encode()
        case datetime():
            midnight = value.time() == time() and value.tzinfo is None
            return (value.date().isoformat() if midnight else value.isoformat(sep=" ")).encode()
        case date():
            return value.isoformat().encode()
    return str(value).encode()


def text_array(values: Iterable[bytes | None]) -> pa.Array:
    """Bytes under the type of text; nothing looks at whether they are UTF-8."""
    raw = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers(), raw.null_count)
