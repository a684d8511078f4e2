"""Statements are read once: what they ask, and what they are refused with, is remembered for everybody."""

from contextlib import suppress

import pytest

from discreet.domain.read import read_domain
from discreet.errors import DomainError, UnsupportedQuery
from discreet.sql.parse import parse_select
from discreet.sql.syntax import one_select, query_of
from discreet.sql.tokens import MOST_CHARACTERS, read_tokens
from discreet.vault import readings
from discreet.vault.readings import Readings
from tests.questions.listed import questions
from tests.questions.tables import QUESTIONS, TABLES


class Reader:
    """Reads texts as their lengths, and counts how often."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.tables: dict[str, object] = {}

    def read(self, sql, lookups):
        self.texts.append(sql)
        if sql.startswith("plain"):
            return len(sql)
        if sql.startswith("domain"):
            raise DomainError("no such column", 3, 4)
        if sql.startswith("broken"):
            raise UnsupportedQuery("not understood")
        if sql.startswith("busy"):
            error = UnsupportedQuery("it takes longer")
            error.may_pass = True
            raise error
        if not lookups():
            raise UnsupportedQuery("no such table")
        return len(sql)

    def remembered(self) -> Readings[int]:
        return Readings(self.read, lambda: dict(self.tables), lambda noted: noted)


@pytest.mark.parametrize(
    ("sql", "kind", "words"),
    [
        ("broken", UnsupportedQuery, "not understood"),
        ("domain", DomainError, "line 3, column 4: no such column"),
        ("joined", UnsupportedQuery, "no such table"),
    ],
)
def test_a_refusal_is_read_once_and_raised_afresh(sql, kind, words):
    reader = Reader()
    question, errors = reader.remembered(), []
    for _ in range(3):
        with pytest.raises(kind, match=f"^{words}$") as raised:
            question(sql)
        errors.append(raised.value)
    assert reader.texts == [sql]
    assert len(set(map(id, errors))) == 3
    assert getattr(errors[-1], "line", None) == (3 if kind is DomainError else None)


def test_what_is_refused_for_want_of_a_look_up_table_is_read_again_with_another():
    reader = Reader()
    question = reader.remembered()
    for text in ("joined", "broken"):
        with pytest.raises(UnsupportedQuery):
            question(text)
    reader.tables["marks"] = "a digest"
    assert question("joined") == 6
    with pytest.raises(UnsupportedQuery):
        question("broken")  # which says nothing of tables
    assert reader.texts == ["joined", "broken", "joined"]


@pytest.mark.parametrize("sql", ["busy", "broken" + "x" * MOST_CHARACTERS], ids=["busy", "long"])
def test_what_the_moment_refuses_is_read_again_and_what_is_too_long_is_not_kept(sql):
    reader = Reader()
    question = reader.remembered()
    for _ in range(2):
        with pytest.raises(UnsupportedQuery):
            question(sql)
    assert len(reader.texts) == 2


def test_so_many_are_kept_and_no_more(monkeypatch):
    monkeypatch.setattr(readings, "MOST_KEPT", 2)
    reader = Reader()
    question = reader.remembered()
    for text in ("plain 1", "plain 2", "plain 1", "plain 3", "plain 1", "plain 2"):
        assert question(text) == 7
    assert reader.texts == ["plain 1", "plain 2", "plain 3", "plain 2"]


def test_reading_a_plain_question_leaves_the_tree_as_it_was_for_what_reads_it_next():
    domains = {name: read_domain(QUESTIONS / f"{name}.toml") for name in TABLES}

    def seen(tree):
        return [(id(node), type(node), list(node.args.items()), dict(node.meta)) for node in tree.walk()]

    for question in questions():
        sql = question.sql
        try:
            tokens = read_tokens(sql)
            tree = query_of(tokens, sql)
        except UnsupportedQuery:
            continue
        before = seen(tree)
        with suppress(UnsupportedQuery, DomainError):
            parse_select(one_select(tree, tokens), sql, domains[question.table])
        assert seen(tree) == before, sql
