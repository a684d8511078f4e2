"""Boolean functions as SQL conditions without values."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UnsupportedQuery
from discreet.sql.formula import read_formula

NAMES = ("a", "b", "c", "Income")

formulas = st.recursive(
    st.sampled_from(["a", "b", "c", "TRUE", "FALSE"]),
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("(NOT {})".format, inner),
        st.builds("({} = {})".format, inner, inner),
        st.builds("({} <> {})".format, inner, inner),
    ),
    max_leaves=12,
)


@given(formulas)
def test_a_formula_has_the_truth_table_that_python_gives_it(text):
    formula = read_formula(text, NAMES)
    python = text.replace("<>", "!=").replace(" = ", " == ")
    for word, its in (("AND", "and"), ("OR", "or"), ("NOT", "not"), ("TRUE", "True"), ("FALSE", "False")):
        python = python.replace(word, its)
    for values in product((False, True), repeat=len(formula.names)):
        index = sum(value << place for place, value in enumerate(values))
        assert formula.table[index] == eval(python, dict(zip(formula.names, values, strict=True)))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("c AND a", ("a", "c")),
        ("INCOME or not A", ("a", "Income")),
        ('"b" = TRUE', ("b",)),
        ("TRUE", ()),
        ("a AND b OR c", ("a", "b", "c")),
    ],
)
def test_names_are_those_that_are_used_in_the_order_of_the_file(text, names):
    formula = read_formula(text, NAMES)
    assert formula.names == names
    assert formula.table.shape == (1 << len(names),)


def test_and_binds_closer_than_or():
    assert read_formula("a OR b AND c", NAMES).table.tolist() == read_formula("a OR (b AND c)", NAMES).table.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "", "a b", "a AND", "a +b", "a > 1", "a IN (1)", "a LIKE 'x'", "a IS NULL", "x", "people.a", "a; b",
        "a LIMIT 1", "a) OR (b", "(SELECT a)", "f(a)", "1", "'a'", "a BETWEEN b AND c", "a UNION SELECT b", "*", "a.*",
    ],
)  # fmt: skip
def test_everything_else_is_refused(text):
    with pytest.raises(UnsupportedQuery):
        read_formula(text, NAMES)
