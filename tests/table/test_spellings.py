"""Dictionaries of texts, beside Arrow's own."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.table.spellings import FIRST_SLOTS, by_spelling

TEXTS = st.one_of(
    st.none(),
    st.binary(max_size=3),
    st.text("ab\0", max_size=20).map(str.encode),
    st.sampled_from([b"", b"\0", b"\0\0", b"12345678", b"123456789", b"12345678\0", b"1234567812345678", b"12345678x"]),
)


def assert_like_arrow(column: pa.Array) -> None:
    found, expected = by_spelling(column), column.dictionary_encode()
    found.validate(full=True)
    assert found.dictionary.to_pylist() == expected.dictionary.to_pylist()
    assert found.indices.to_pylist() == expected.indices.to_pylist()


@pytest.mark.usefixtures("either_way")
@given(st.lists(TEXTS), st.integers(0, 5))
def test_each_spelling_is_there_once_in_the_order_in_which_they_come(texts: list[bytes | None], skipped: int) -> None:
    assert_like_arrow(pa.array(texts, pa.binary()))
    assert_like_arrow(pa.array(texts, pa.binary()).slice(skipped))


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("digits", [4, 8, 12, 40])
def test_more_spellings_than_there_are_slots_at_first_find_one_each(digits: int) -> None:
    numbers = np.arange(20 * FIRST_SLOTS) * 7919 % (9 * FIRST_SLOTS)
    assert_like_arrow(pa.array([b"%0*d" % (digits, number) for number in numbers.tolist()], pa.binary()))


def test_a_column_of_nothing_has_no_spelling() -> None:
    assert by_spelling(pa.nulls(3, pa.binary())).dictionary.to_pylist() == []
    assert by_spelling(pa.array([], pa.binary())).to_pylist() == []
