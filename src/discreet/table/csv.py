"""CSV files: names from the header, every value as the bytes that are written, and one line is one row.

Whatever is in a line, it is that row and touches no other: fields too few are missing, fields too many are ignored, a
quote inside a value is part of it, and bytes that are not UTF-8 are a value like any other. An empty line is no row.
Only where a line cannot be told from the next (a quote is left open, or a carriage return stands by itself) is the file
refused, when it is taken in, and the refusal names the line and nothing that is in it.

Other encodings and separators are declared, in the location: `people.csv?encoding=latin-1&separator=pipe`.
"""

import csv
import gzip
import io
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from discreet.errors import TableError
from discreet.table.csv_format import SEPARATORS, CsvFormat, csv_format
from discreet.table.header import column_names, what_it_is
from discreet.table.partitions import Partition, require_apart, with_partition
from discreet.table.paths import files_of, partitions_of, stamp_of
from discreet.table.source import Source, Told, unreadable
from discreet.table.spellings import by_spelling

HEADER_BYTES = 1 << 20
BLOCK_BYTES = 1 << 23
LONGEST_LINE = 1 << 30
"""A longer line is no row that somebody wrote; Arrow takes less than twice as much."""
MARK = b"\xef\xbb\xbf"
QUOTE, NEWLINE, RETURN = b'"\n\r'

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Parsed = tuple[int, list[pa.RecordBatch]]
"""The bytes of a block, and its rows."""


def open_csv(location: str) -> Source:
    """Open files with one and the same header. Their first lines are read only."""
    path, written = csv_format(location)
    files = files_of(path)
    partitions = partitions_of(path, files)
    separator, names = _header(files[0], written)
    require_apart(partitions[0], names, files[0])
    for file in files[1:]:
        if _header(file, written) != (separator, names):
            raise TableError(f"{file} has another first line than {files[0]}; the columns must be in the same order")
    return Source(
        location=location,
        columns=dict.fromkeys((*names, *partitions[0]), pa.string()),
        read=lambda wanted, told: _rows(files, partitions, written, separator, names, wanted, told),
        stamp=lambda: stamp_of(path),
        advice=_advice(path, written, separator),
    )


def _opened(file: str) -> IO[bytes]:
    match Path(file).suffix.lower():
        case ".gz":
            return gzip.open(file)  # type: ignore[return-value]
        case ".zst":
            return io.BufferedReader(pa.CompressedInputStream(pa.OSFile(file), "zstd"))
    return open(file, "rb")


def _advice(path: str, written: CsvFormat, separator: str) -> str:
    """What to change where a column of the domain is not in the header."""
    if written.names:
        return "the names are those of the location"
    name = next((name for name, character in SEPARATORS.items() if character == separator), separator)
    below = f" below {written.skip}" if written.skip else ""
    return (
        f"the first line{below} was read as {written.encoding}, divided by {name}: if it is not, or titles stand above "
        f"the names, say so, with {path}?encoding=latin-1, {path}?separator=semicolon or {path}?skip={written.skip + 1}"
    )


def _header(file: str, written: CsvFormat) -> tuple[str, list[str]]:
    """The separator and the columns' names. Reads the first line only, and not that where the names are declared."""
    if written.names:
        return written.separator or ",", list(written.names)
    about = f"first line below {written.skip}" if written.skip else "first line"
    try:
        with _opened(file) as stream:
            _pass_over(stream, written.skip)
            line = stream.readline(HEADER_BYTES)
        header = written.to_utf8(line).decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise TableError(
            f"{file}: the {about} is not in UTF-8; "
            + (
                what_it_is(file)
                or f"say what it is in: {file}?encoding=latin-1, or encoding=cp1252 for what Windows writes"
            )
        ) from None
    except (OSError, EOFError, zlib.error):
        raise _no_header(file, written, about) from None
    if "\0" in header:
        raise TableError(f"{file}: the {about} is no text in {written.encoding.upper()}; {what_it_is(file)}")
    if len(line) == HEADER_BYTES:
        raise _no_header(file, written, about)
    if "\r" in header:
        raise _lone_return(file, 1 + written.skip)
    separator = written.separator or max(",;\t|", key=header.count)
    try:
        names = next(csv.reader([header], delimiter=separator, strict=True), [])
    except csv.Error:
        raise _no_header(file, written, about) from None
    # A table saved with its row numbers has a column without a name.
    return separator, column_names(file, about, names)


def _no_header(file: str, written: CsvFormat, about: str) -> TableError:
    seems = what_it_is(file)
    why = f"; {seems}" if seems and "text" not in seems else ""
    return TableError(f"{file}: the {about} cannot be read as a CSV header in {written.encoding.upper()}{why}")


def _pass_over(stream: IO[bytes], lines: int) -> None:
    """Read lines that are no part of the table, whatever is in them."""
    for _ in range(lines):
        while (part := stream.readline(HEADER_BYTES)) and not part.endswith(b"\n"):
            pass


def _rows(
    files: Sequence[str],
    partitions: Sequence[Partition],
    written: CsvFormat,
    separator: str,
    names: Sequence[str],
    wanted: Sequence[str],
    told: Told,
) -> Iterator[pa.RecordBatch]:
    for number, (file, partition) in enumerate(zip(files, partitions, strict=True)):

        def rows(own: Sequence[str], file: str = file, number: int = number) -> Iterator[pa.RecordBatch]:
            places = [names.index(name) for name in own]
            yield from _rows_of(
                file, written, separator, names, places, lambda done: told((number + done) / len(files))
            )

        yield from with_partition(rows, partition, names, wanted)


def _rows_of(
    file: str, written: CsvFormat, separator: str, names: Sequence[str], places: Sequence[int], told: Told
) -> Iterator[pa.RecordBatch]:
    try:
        size, read = max(1, Path(file).stat().st_size), 0
        with _opened(file) as stream, ThreadPoolExecutor(os.cpu_count()) as pool:
            first = written.skip + (0 if written.names else 1)
            _pass_over(stream, first)

            def parsed(numbered: tuple[int, bytes]) -> tuple[int, list[pa.RecordBatch]]:
                first_line, block = numbered
                rows = _parsed(written.to_utf8(block), file, first_line, separator, names, places)
                return len(block), list(rows)

            for length, batches in _side_by_side(pool, parsed, _blocks(stream, file, first + 1)):
                yield from batches
                read += length
                told(min(1.0, read / size))
    except (OSError, EOFError, zlib.error, pa.ArrowException):
        raise unreadable(file) from None


def _side_by_side(
    pool: ThreadPoolExecutor, work: Callable[[tuple[int, bytes]], Parsed], blocks: Iterator[tuple[int, bytes]]
) -> Iterator[Parsed]:
    """What is made of each block, in order, with one more under way than there are cores."""
    underway: deque[Future[Parsed]] = deque()
    for block in blocks:
        underway.append(pool.submit(work, block))
        if len(underway) > (os.cpu_count() or 1):
            yield underway.popleft().result()
    while underway:
        yield underway.popleft().result()


def _blocks(stream: IO[bytes], file: str, line: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a file from one on, many at a time, and the number of the first of them."""
    held = b"" if line > 1 else stream.read(len(MARK)).removeprefix(MARK)
    while chunk := stream.read(BLOCK_BYTES):
        end = chunk.rfind(b"\n") + 1
        if end:
            block, held = held + chunk[:end], chunk[end:]
            yield line, block
            line += int(np.count_nonzero(np.frombuffer(block, np.uint8) == NEWLINE))
        else:
            held += chunk
        if len(held) > LONGEST_LINE:
            raise TableError(f"{file}: line {line:,} is longer than {LONGEST_LINE:,} bytes; leave it out of the table")
    if held:
        yield line, held + b"\n"


def _parsed(
    block: bytes, file: str, first_line: int, separator: str, names: Sequence[str], places: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    """The rows of a block: lines that every reader of CSV reads alike by Arrow, the odd ones here."""
    data = np.frombuffer(block, np.uint8)
    _require_no_lone_return(data, file, first_line)
    if (plain := _without_quotes(block, separator, names, places)) is not None:
        yield plain
        return
    odd = _odd_lines(data, ord(separator), len(names))
    lines = block.split(b"\n") if odd.size else []
    if odd.size:
        keep = np.ones(len(lines), np.bool_)
        keep[odd] = False
        block = b"\n".join(line for line, kept in zip(lines, keep.tolist(), strict=True) if kept)
    if block.lstrip(b"\r\n"):
        yield _by_arrow(block, separator, names, places)
    fields = [_fields(lines[line], ord(separator)) for line in odd.tolist()]
    for line, (_, is_open) in zip(odd.tolist(), fields, strict=True):
        if is_open:
            raise TableError(
                f"{file}: a quote is opened on line {first_line + line:,} and not closed there; one line is one row "
                "here: take the line breaks out of the values, or save the table as Parquet"
            )
    rows = [[values[place] if place < len(values) else None for place in places] for values, _ in fields]
    if rows:
        columns = [pa.array(column, pa.binary()) for column in zip(*rows, strict=True)]
        yield _as_text(columns, [names[place] for place in places])


def _without_quotes(block: bytes, separator: str, names: Sequence[str], places: Sequence[int]) -> pa.RecordBatch | None:
    """The rows of a block where no line has a quote, or another number of fields than there are columns: Arrow would
    refuse that."""
    if b'"' in block or not block.lstrip(b"\r\n"):
        return None
    try:
        return _by_arrow(block, separator, names, places)
    except pa.ArrowInvalid:
        return None


def _by_arrow(block: bytes, separator: str, names: Sequence[str], places: Sequence[int]) -> pa.RecordBatch:
    wanted = [names[place] for place in places]
    table = arrow_csv.read_csv(
        pa.BufferReader(block),
        # Blocks are parsed side by side already, one on each core.
        arrow_csv.ReadOptions(column_names=list(names), block_size=len(block) + 1, use_threads=False),
        arrow_csv.ParseOptions(delimiter=separator, quote_char='"', double_quote=True, newlines_in_values=False),
        arrow_csv.ConvertOptions(
            check_utf8=False,
            column_types=dict.fromkeys(wanted, pa.binary()),
            include_columns=wanted,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    [batch] = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    # Each spelling of a block once, so that each is looked at once.
    return _as_text([by_spelling(column) for column in batch.columns], wanted)


def _as_text(columns: Sequence[pa.Array], names: Sequence[str]) -> pa.RecordBatch:
    """The same bytes under the type of text; nothing looks at whether they are UTF-8."""
    return pa.RecordBatch.from_arrays([_text(column) for column in columns], list(names))


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _text(column.dictionary))
    return pa.Array.from_buffers(pa.string(), len(column), column.buffers(), column.null_count, column.offset)


def _require_no_lone_return(data: Bytes, file: str, first_line: int) -> None:
    returns = np.flatnonzero(data == RETURN)
    if not returns.size:
        return
    lone = returns[data[np.minimum(returns + 1, data.size - 1)] != NEWLINE]
    if lone.size:
        raise _lone_return(file, first_line + int(np.count_nonzero(data[: lone[0]] == NEWLINE)))


def _lone_return(file: str, line: int) -> TableError:
    return TableError(
        f"{file}: line {line:,} has a carriage return in the middle; lines end with a newline, or with both: save the "
        "table with such line ends, or as Parquet"
    )


def _odd_lines(data: Bytes, separator: int, columns: int) -> Places:
    """Lines, from 0, that are not plainly CSV: another number of fields, or a quote where none belongs."""
    quotes = np.flatnonzero(data == QUOTE)
    if not quotes.size:
        return _lines_of_other_length(data, separator, columns)
    ends = np.flatnonzero(data == NEWLINE)
    separators = np.flatnonzero(data == separator)
    line_of_quote = np.searchsorted(ends, quotes)
    first_quote = np.searchsorted(quotes, np.append(0, ends[:-1]))
    opens = (np.arange(quotes.size) - first_quote[line_of_quote]) % 2 == 0
    before, after = data[np.maximum(quotes - 1, 0)], data[np.minimum(quotes + 1, data.size - 1)]
    begins = (quotes == 0) | (before == separator) | (before == NEWLINE) | (before == QUOTE)
    closes = (after == separator) | (after == NEWLINE) | (after == RETURN) | (after == QUOTE)
    odd = np.zeros(ends.size, np.bool_)
    odd[line_of_quote[np.where(opens, ~begins, ~closes)]] = True
    odd |= np.bincount(line_of_quote, minlength=ends.size) % 2 == 1
    line_of_separator = np.searchsorted(ends, separators)
    quotes_before = np.searchsorted(quotes, separators) - first_quote[line_of_separator]
    between = line_of_separator[quotes_before % 2 == 0]
    starts = np.append(0, ends[:-1] + 1)
    empty = (starts == ends) | ((ends - starts == 1) & (data[starts] == RETURN))
    odd |= (np.bincount(between, minlength=ends.size) != columns - 1) & ~empty
    places: Places = np.flatnonzero(odd)
    return places


def _lines_of_other_length(data: Bytes, separator: int, columns: int) -> Places:
    """The same where no line has a quote: those with another number of fields."""
    is_end = data == NEWLINE
    marks = np.flatnonzero(is_end | (data == separator))
    last = np.flatnonzero(is_end[marks])
    fields = np.diff(last, prepend=-1)
    ends = marks[last]
    starts = np.append(0, ends[:-1] + 1)
    empty = (starts == ends) | ((ends - starts == 1) & (data[starts] == RETURN))
    places: Places = np.flatnonzero((fields != columns) & ~empty)
    return places


def _fields(line: bytes, separator: int) -> tuple[list[bytes | None], bool]:
    """The values of one line, whatever is in it, and whether a quote was left open at its end."""
    fields: list[bytes | None] = []
    value, was_quoted, inside, at = bytearray(), False, False, 0
    line = line.removesuffix(b"\r")
    while at < len(line):
        byte = line[at]
        if inside and byte == QUOTE and line[at + 1 : at + 2] == b'"':
            value.append(QUOTE)
            at += 1
        elif inside and byte == QUOTE:
            inside = False
        elif not inside and byte == QUOTE and not value and not was_quoted:
            inside = was_quoted = True
        elif not inside and byte == separator:
            fields.append(bytes(value) if value or was_quoted else None)
            value, was_quoted = bytearray(), False
        else:
            value.append(byte)
        at += 1
    fields.append(bytes(value) if value or was_quoted else None)
    return fields, inside
