"""MySQL's way of writing SQL, read and written again."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UnsupportedQuery
from discreet.server.mysql import probe
from discreet.server.mysql.dates import standard_text
from discreet.server.mysql.probe import evaluate, is_like
from discreet.server.mysql.text import read_statement


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT `sex` FROM `people`;", 'SELECT "sex" FROM "people"'),
        ('WHERE sex = "F"', "WHERE sex = 'F'"),
        (r"WHERE x = 'it\'s' OR x = 'a''b'", "WHERE x = 'it''s' OR x = 'a''b'"),
        (r"WHERE x = 'a\\' AND y = 'b'", r"WHERE x = 'a\' AND y = 'b'"),
        ("SELECT `a``b`", 'SELECT "a`b"'),
        ('SELECT `a"b`', 'SELECT "a""b"'),
        ("/* tool */ SELECT 1 -- end", "  SELECT 1"),
        ("SELECT 1 # end\n, 2", "SELECT 1  \n, 2"),
        ("SELECT 1--1", "SELECT 1--1"),
        ("/*!40101 SELECT 1 */", "  SELECT 1"),
        ("SELECT '/* no comment */'", "SELECT '/* no comment */'"),
        ("SELECT `discreet`.`people`.`age` FROM discreet.people", 'SELECT "people"."age" FROM people'),
        ("SELECT 1 LIMIT 5, 10", "SELECT 1 LIMIT 10 OFFSET 5"),
        ("SELECT 1 LIMIT 10", "SELECT 1 LIMIT 10"),
        ("SELECT 1.5e3, .5", "SELECT 1.5e3, .5"),
    ],
)
def test_a_statement_is_written_as_the_standard_writes_it(written, expected):
    assert standard_text(read_statement(written), "discreet") == expected


def test_double_quotes_are_names_where_the_session_says_so():
    assert standard_text(read_statement('SELECT "a"', ansi_quotes=True), "discreet") == 'SELECT "a"'


@pytest.mark.parametrize(
    "text", ["SELECT 'a", 'SELECT "a', "SELECT `a", "SELECT 'a\\'", "SELECT 1; SELECT 2", "x" * 70_000]
)
def test_what_does_not_end_or_is_more_than_one_is_refused(text):
    with pytest.raises(UnsupportedQuery):
        read_statement(text)


@given(st.text("ab01'\"`\\ ;/*!-#\n@.,?()é", max_size=60))
def test_any_text_is_read_or_refused_and_no_character_is_lost(text):
    try:
        statement = read_statement(text)
    except UnsupportedQuery:
        return
    assert text.startswith("".join(token.text for token in statement.written))


@given(st.text("abA%_", max_size=12), st.text("abA%_", max_size=8))
def test_like_is_sqlites_own(text, pattern):
    [found] = sqlite3.connect(":memory:").execute("SELECT ? LIKE ?", (text, pattern)).fetchone()
    assert is_like(text, pattern) == bool(found)


def test_a_backslash_takes_a_wild_card_for_itself():
    assert [is_like("a%b", "a\\%b"), is_like("axb", "a\\%b"), is_like("a_b", "a\\_b")] == [True, False, True]


def test_no_pattern_of_like_is_slow():
    assert not is_like("a" * 2000, "%a" * 1000 + "b")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT hex(zeroblob(30000)) LIKE '%' || hex(zeroblob(15000)) || '1'",
        "SELECT COUNT(hex(zeroblob(a.n)) LIKE '%00%01') FROM s.t a, s.t b, s.t c",
        "SELECT length(hex(zeroblob(400000)))",
        "SELECT COUNT(*) FROM s.t a, s.t b, s.t c, s.t d",
    ],
)
def test_no_look_at_the_catalogue_takes_many_steps_or_long_values(text):
    with pytest.raises(UnsupportedQuery, match=r"takes too long|did not understand it"):
        evaluate(read_statement(text), lambda _: None, {}, {"s.t": (["n"], [[n] for n in range(200)])})


def test_no_look_at_the_catalogue_takes_long_though_its_steps_are_few(monkeypatch):
    monkeypatch.setattr(probe, "MOST_SECONDS", 0.1)
    monkeypatch.setattr(probe, "MOST_STEPS", 10**12)  # each of these searches a long value for another
    text = "SELECT COUNT(replace(hex(zeroblob(30000)), hex(zeroblob(15000 + a.n + b.n)) || '1', '')) FROM s.t a, s.t b"
    with pytest.raises(UnsupportedQuery, match="takes too long"):
        evaluate(read_statement(text), lambda _: None, {}, {"s.t": (["n"], [[n] for n in range(200)])})
