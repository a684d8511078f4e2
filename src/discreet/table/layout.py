"""How rows are kept in a snapshot: a column of codes for each attribute, and of amounts for some."""

from typing import Any

import numpy as np

from discreet.domain.attribute import Attribute, Bins
from discreet.errors import UnsupportedQuery
from discreet.query.query import grain_of

MANIFEST = "manifest.json"
FORMAT = 1
PERSON, PEOPLE, PLACE, ERASED = "person", "people", "place", "erased"
"""Further columns: the number of each row's person, each person's key, and each row's place on a roster; the key of
everybody who was erased, where anybody was."""


def key_file(place: int) -> str:
    """The keys of rows by a column that rows below know them by, where tables grow: the column's place among those."""
    return f"key-{place}"


def codes_file(axis: int) -> str:
    return f"codes-{axis}"


def units_file(axis: int) -> str:
    return f"units-{axis}"


def code_type(attribute: Attribute) -> np.dtype[Any]:
    """The smallest type that holds an attribute's codes."""
    return np.min_scalar_type(attribute.size - 1)


def has_units(attribute: Attribute) -> bool:
    """Whether rows are kept with an amount beside their code. The amount of an Integer is its code."""
    try:
        return isinstance(attribute, Bins) and grain_of(attribute) > 0
    except UnsupportedQuery:
        return False


def unit_type(attribute: Attribute) -> np.dtype[Any]:
    """The smallest type that holds an attribute's amounts, in whole grains, with either sign."""
    assert isinstance(attribute, Bins)
    grain = grain_of(attribute)
    most = max(-(-abs(edge) // grain) for edge in attribute.edges if edge is not None)
    return np.min_scalar_type(-int(most) - 1)
