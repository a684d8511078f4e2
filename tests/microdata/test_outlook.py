"""What is known of limits before a row is read: never more than the table itself then says."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidLimits
from discreet.microdata.limits import Limits
from discreet.microdata.outlook import outlook, require_possible

VALUES = ("a", "b", "c")


@pytest.mark.parametrize(
    ("limits", "own", "words"),
    [
        ("min(1, 3*f + 0.05)", (), "can be met, whatever the table holds"),
        ("f", (), "can be met, whatever the table holds"),
        ("0.5", (), "where no value is more frequent than 0.5"),
        ("0.5*f + 0.2", (), "where no value is more frequent than 0.4"),  # f ≤ f/2 + 0.2
        ("0.5*f + 0.5", (), "can be met, whatever the table holds"),
        ("0.3", (), "No table meets these limits"),
        ("1", ("a=0.02",), "the strictest: a at most 0.02"),
        ("0.5", ("a=0.02", "b=0.02"), "No table meets these limits"),
    ],
)
def test_limits_are_told_in_words(limits, own, words):
    assert words in str(outlook(Limits.parse(limits, own), VALUES))


def test_a_value_that_is_not_there_is_named():
    with pytest.raises(InvalidLimits, match="no value 'z'"):
        outlook(Limits.parse("1", ["z=0.1"]), VALUES)


parts = st.fractions(0, 2, max_denominator=20)


@given(parts, parts, st.lists(st.integers(0, 30), min_size=3, max_size=3).filter(any),
       st.none() | st.fractions("1/20", 1, max_denominator=20))  # fmt: skip
def test_it_says_of_every_table_what_the_table_itself_says(slope, offset, counts, own):
    if slope == offset == 0:
        return
    limits = Limits(slope, offset, () if own is None else (("a", own),))
    found = outlook(limits, VALUES)
    frequencies = [Fraction(count, sum(counts)) for count in counts]
    fits = all(share <= most for share, (_, most) in zip(frequencies, found.most, strict=True))
    try:
        limits.of(VALUES, counts)
    except InvalidLimits:
        assert not fits
    else:
        assert fits
        assert found.possible
        require_possible(limits, VALUES)
