"""A format catalogue of SAS, in as few bytes as ReadStat reads: SAS itself, which writes them, is not to be had."""

import struct
from collections.abc import Mapping
from pathlib import Path

PAGE = 4096
MAGIC = bytes(12) + bytes.fromhex("c2ea8163 b31411cf bd920800 09c7318c 181f1011")
FIRST_ENTRY, ENTRY = 856, 212
"""Where the index of page 1 begins, and the length of an entry in it."""


def write_catalogue(path: Path, formats: Mapping[str, Mapping[float | str, str]]) -> None:
    """Formats by name, those of texts with a dollar before it: each value with its label."""
    index, data = bytearray(PAGE), bytearray(PAGE)
    at = 16
    for number, (name, labels) in enumerate(formats.items()):
        entry = FIRST_ENTRY + number * ENTRY
        index[entry : entry + 4] = b"XLSR"
        struct.pack_into("<ih", index, entry + 4, 4, at)
        index[entry + 50] = ord("O")
        block = _block(name, labels)
        struct.pack_into("<ihh", data, at, 0, 0, len(block))
        data[at + 16 : at + 16 + len(block)] = block
        at += 16 + len(block)
    path.write_bytes(_header(4) + bytes(PAGE) + index + bytes(PAGE) + data)


def _block(name: str, labels: Mapping[float | str, str]) -> bytes:
    head = bytearray(106)
    head[8:16] = name.encode().ljust(8)
    struct.pack_into("<ii", head, 38, len(labels), len(labels))
    values, texts = b"", b""
    for number, (value, label) in enumerate(labels.items()):
        key = value.encode().ljust(16) if isinstance(value, str) else _key(value)
        values += struct.pack("<2xh6xi8x", 16 + len(key), number) + key
        texts += bytes(8) + struct.pack("<h", len(label.encode())) + label.encode() + b"\0"
    return bytes(head) + values + texts


def _key(value: float) -> bytes:
    """A double that bytes sort like numbers."""
    if value >= 0:
        return struct.pack(">d", -value)
    return bytes(255 - byte for byte in struct.pack(">d", value))


def _header(pages: int) -> bytes:
    header = bytearray(1024)
    header[:32] = MAGIC
    header[32:40] = bytes([0x22, 0x22, 0, 0x22, 0x22, 1, 2, ord("1")])
    header[70] = header[71] = 20  # UTF-8
    header[84:92], header[92:124], header[156:164] = b"SAS FILE", b"FORMATS".ljust(32), b"CATALOG "
    struct.pack_into("<III", header, 196, len(header), PAGE, pages)
    header[216:224] = b"9.0401M5"
    return bytes(header)
