"""Codes as columns of a published table, and back."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.domain.attribute import OTHER, Attribute, Integer
from discreet.errors import DomainError

Integers = NDArray[np.int64]


def require_readable(attribute: Attribute) -> None:
    """Raise DomainError where two codes of an attribute would be written the same."""
    if not isinstance(attribute, Integer) and len(set(attribute.labels)) < attribute.size:
        raise DomainError(f"{attribute.name} has two codes that read the same; rename one in the domain")


def column_of(attribute: Attribute, codes: Integers) -> pa.Array:
    """Whole numbers, or a dictionary of labels; missing values are missing."""
    missing = codes == attribute.null_code if attribute.null_code is not None else np.zeros(len(codes), np.bool_)
    if isinstance(attribute, Integer) and attribute.other_code is None:
        return pa.array(codes + attribute.low, mask=missing)
    there, places = np.unique(codes, return_inverse=True)
    labels = pa.array([attribute.label(code) for code in there.tolist()], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32), mask=missing), labels)


def codes_of(attribute: Attribute, column: pa.ChunkedArray) -> Integers:
    """The codes of a column. Raises ValueError or LookupError where it holds what the attribute does not have."""
    missing = -1 if attribute.null_code is None else attribute.null_code
    if isinstance(attribute, Integer) and attribute.other_code is None:
        codes = pc.fill_null(pc.subtract(column.cast(pa.int64()), attribute.low), missing)
        numbers = codes.to_numpy().astype(np.int64)
    else:
        encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
        known = np.array([_code(attribute, label) for label in encoded.dictionary.to_pylist()] + [missing], np.int64)
        numbers = known[pc.fill_null(encoded.indices, len(known) - 1).to_numpy(zero_copy_only=False)]
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < attribute.size:
        raise ValueError(f"{attribute.name} has values that its domain does not have")
    return np.asarray(numbers, np.int64)


def _code(attribute: Attribute, label: str) -> int:
    if isinstance(attribute, Integer):
        return int(attribute.other_code or 0) if label == OTHER else int(label) - attribute.low
    return attribute.labels.index(label)
