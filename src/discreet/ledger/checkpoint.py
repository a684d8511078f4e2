"""Checkpoints: an entry of the journal that states what all entries before it add up to, so that opening need not.

What is stated is plain data (whole numbers, text, lists, dictionaries) and arrays; in the entry an array is packed. Two
statements are compared by what they say, not by how it is packed.

Nobody goes by a checkpoint that they did not compare. Whoever comes upon one while counting entries compares it with
what these add up to; where it says the same, its receipt is kept outside the vault (`receipt.py`). A journal is opened
from such a one alone, and only while it has that very hash: where none was kept, all entries are counted. So nothing is
ever charged less because of what a checkpoint says, and one that is untrue is passed over, and found by every audit.
"""

import base64
import binascii
import zlib
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

KIND = "checkpoint"

FORM = 1
"""Of what is stated, and of how the maps come to be: where the same charges make another map, it is another form.
Checkpoints of other forms are passed over."""

EVERY = 20_000
"""A checkpoint is written after so many entries, or later: all of them together take no more room than the entries.
Opening counts as many, in about a quarter of a second."""

KINDS_OF_NUMBERS = ("int64", "int32")
LEVEL = 1
"""zlib's quickest: what is packed is mostly zeros."""


def packed(stated: Any) -> Any:
    """The same as JSON."""
    match stated:
        case np.ndarray():
            squeezed = zlib.compress(np.ascontiguousarray(stated).data, LEVEL)
            text = base64.b64encode(squeezed).decode("ascii")
            return {"numbers": stated.dtype.name, "shape": list(stated.shape), "zlib": text}
        case dict():
            return {key: packed(value) for key, value in stated.items()}
        case list():
            return [packed(value) for value in stated]
    return stated


def unpacked(content: Any) -> Any:
    """The inverse of `packed`. Raises ValueError where an array cannot be read."""
    match content:
        case {"numbers": str(numbers), "shape": list(shape), "zlib": str(text), **others} if not others:
            return _unpacked(numbers, shape, text)
        case dict():
            return {key: unpacked(value) for key, value in content.items()}
        case list():
            return [unpacked(value) for value in content]
    return content


def says(content: Any, stated: Any) -> bool:
    """Whether packed content is a statement, whatever zlib packed it. What it is compared with bounds the work."""
    match stated:
        case np.ndarray():
            return _says_array(content, stated)
        case dict():
            same_keys = isinstance(content, dict) and content.keys() == stated.keys()
            return same_keys and all(says(content[key], value) for key, value in stated.items())
        case list():
            same_length = isinstance(content, list) and len(content) == len(stated)
            return same_length and all(says(one, value) for one, value in zip(content, stated, strict=True))
    return type(content) is type(stated) and bool(content == stated)


def _says_array(content: Any, stated: NDArray[Any]) -> bool:
    match content:
        case {"numbers": str(numbers), "shape": list(shape), "zlib": str(text), **others}:
            if others or numbers != stated.dtype.name or shape != list(stated.shape):
                return False
            try:
                return np.array_equal(_unpacked(numbers, shape, text), stated)
            except ValueError:
                return False
    return False


def _unpacked(numbers: str, shape: list[Any], text: str) -> NDArray[Any]:
    if numbers not in KINDS_OF_NUMBERS or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError("no array is packed there")
    expected = prod(shape) * np.dtype(numbers).itemsize
    unpacking = zlib.decompressobj()
    try:
        # One byte more than there should be: what would go on is not unpacked to its end.
        found = unpacking.decompress(base64.b64decode(text, validate=True), expected + 1)
    except (zlib.error, binascii.Error) as error:
        raise ValueError("a packed array cannot be read") from error
    if len(found) != expected or not unpacking.eof:
        raise ValueError("a packed array has another size")
    return np.frombuffer(bytearray(found), numbers).reshape(shape)
