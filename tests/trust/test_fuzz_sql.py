"""SQL by the million: read, planned and explained, or refused in Discreet's own words."""

from collections.abc import Callable, Iterator
from itertools import count
from math import prod
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.sql.parse import parse, parse_predicate
from discreet.vault import Vault
from tests.trust.fuzzing import FIXTURES, fuzz, guided, mutated
from tests.trust.sql_grammar import COLUMNS, LISTED, condition, statement

SHARDS = 8
EXPLAINED, EXPLAINED_GROUPS = 10, 100
"""Of so many statements that are understood one is explained as well, if it has at most so many groups: that takes ten
times as long as to read it."""
SECRETS = ("Zaphod", "31337", "4242.42")
"""Values of the table, which no word of a refusal may hold."""

PEOPLE = {
    "age": [31337, 42, None],
    "sex": ["Zaphod", "F", "M"],
    "education": ["Zaphod", "none", None],
    "income": [4242.42, 31337.0, 10.0],
    "wealth": [4242.42, None, -31337.0],
    "children": [31337, 1, 2],
    "born": [31337, 1950, 1960],
    "district": ["Zaphod", "1", "2"],
    "married": ["Zaphod", "true", "false"],
}
VOCABULARY = """
SELECT FROM WHERE GROUP BY ORDER LIMIT OFFSET COUNT(*) SUM( AVG( QUANTILE( MEDIAN( ( ) * , . ; = <> < > <= >= + - / %
AND OR NOT IN ( IS NULL BETWEEN TRUE FALSE CASE WHEN THEN END CAST( AS FILTER(WHERE OVER( JOIN UNION WITH HAVING
DISTINCT EXISTS( people PEOPLE 'F' "age" `age` ? : :: [ ] { } -> || @ $1 INTERVAL DATE LIKE ESCAPE VALUES LATERAL WITHIN
PERCENTILE_CONT( REPEAT('a',1000000000) x'ff' E'x' N'x' /* */ -- # ~ ^ ! << >> ** := ILIKE SIMILAR TO ANY( ALL( ROLLUP(
CUBE( GROUPING SETS( WINDOW QUALIFY FETCH FIRST TABLESAMPLE PIVOT UNNEST( TRY_CAST( EXTRACT( POSITION( DECODE( IF( IIF(
ARRAY[ MAP{ STRUCT( JSON 'a' COLLATE AT TIME ZONE PRIOR CONNECT DIV MOD XOR RLIKE REGEXP GLOB MATCH_RECOGNIZE( ROW(
"""
WORDS = [word.encode() for word in VOCABULARY.split()]


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    """A vault that has released a few answers, so that others may be derived from them."""
    folder = tmp_path_factory.mktemp("vault")
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(folder))
        made = Vault.init(folder / "vault", table=pa.table(PEOPLE), domain=FIXTURES / "people.toml", epsilon=10,
                          neighbours="add-remove")  # fmt: skip
        opened = Vault.open(made.path, table=pa.table(PEOPLE))
        for where in ("age < 30", "age < 65", "sex = 'F'", "sex = 'F' AND age < 30", "income >= 25000", "TRUE"):
            opened.ask(f"SELECT COUNT(*), SUM(children) FROM people WHERE {where}", scale=20)
        opened.ask("SELECT sex, education, COUNT(*) FROM people GROUP BY sex, education", scale=20)
        yield opened


def read(vault: Vault) -> Callable[[str], object]:
    understood = count()

    def feed(text: str) -> None:
        question = parse(text, vault.domain)
        few = prod(vault.domain[name].size for name in question.by) <= EXPLAINED_GROUPS
        if next(understood) % EXPLAINED == 0 and few:
            vault.explain(text)

    return feed


def statements(draw: Random, number: int) -> Iterator[str]:
    """A third by the grammar; a third of those with a few words or characters changed; a third with a few bytes."""
    for place in range(number):
        text = statement(draw)
        if place % 3 == 1:
            words = text.split(" ")
            for _ in range(draw.randrange(1, 5)):
                spot = draw.randrange(len(words) + 1)
                words[spot : spot + draw.randrange(2)] = [draw.choice(WORDS).decode()] * draw.choice((1, 1, 1, 30))
            text = " ".join(words)
        elif place % 3 == 2:
            text = mutated(draw, text.encode(), WORDS).decode("utf-8", "replace")
        yield text


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_statement_crashes_hangs_or_tells(shard, vault, amount, counted):
    ended = fuzz(statements(Random(shard), amount(120, 112_500)), read(vault), (*SECRETS, str(vault.path)))
    counted(statements=ended.total(), refused=ended["refused"], crashes=0, hangs=0)
    assert ended["taken"] > ended.total() // 10


def test_no_predicate_crashes_hangs_or_tells(vault, amount, counted):
    draw = Random(20261115)
    seeds = (condition(draw, 3).encode() for _ in range(amount(250, 50_000)))
    texts = (mutated(draw, seed, WORDS, 2).decode("utf-8", "replace") for seed in seeds)
    ended = fuzz(texts, lambda text: parse_predicate(text, vault.domain), SECRETS)
    counted(predicates=ended.total(), refused=ended["refused"], crashes=0, hangs=0)


def conditions() -> st.SearchStrategy[str]:
    """The grammar of WHERE, for hypothesis: it shrinks what fails."""
    compared = st.one_of(
        [
            st.builds(
                "{} {} {}".format,
                st.just(name),
                st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
                st.sampled_from(values),
            )
            for name, values in LISTED.items()
        ]
    )
    listed = st.one_of(
        [
            st.lists(st.sampled_from(values), min_size=1, max_size=5).map(lambda v, n=name: f"{n} IN ({', '.join(v)})")
            for name, values in LISTED.items()
        ]
    )
    columns, signs = st.sampled_from(tuple(COLUMNS)), st.sampled_from(["=", "LIKE", "IS", ">"])
    odd = st.builds("{} {} {}".format, columns, signs, st.text(max_size=8))
    return st.recursive(
        compared | listed | odd,
        lambda inner: (
            inner.map("NOT ({})".format) | st.builds("({} {} {})".format, inner, st.sampled_from(["AND", "OR"]), inner)
        ),
        max_leaves=12,
    )


def test_no_statement_of_the_grammar_crashes_hangs_or_tells(vault, amount, counted):
    feed, seen = read(vault), []

    @settings(max_examples=amount(100, 20_000))
    @given(where=conditions(), by=st.sets(st.sampled_from(["sex", "education", "wealth", "married"]), max_size=2))
    def each(where, by):
        columns = "".join(f"{name}, " for name in sorted(by))
        groups = f" GROUP BY {', '.join(sorted(by))}" if by else ""
        seen.extend(fuzz([f"SELECT {columns}COUNT(*) FROM people WHERE {where}{groups}"], feed, SECRETS).elements())

    each()
    counted(statements=len(seen), crashes=0, hangs=0)


def test_no_statement_found_by_coverage_crashes_hangs_or_tells(amount, counted, tmp_path):
    """atheris changes what reaches new branches of the reader and of the parser below it."""
    runs, draw = amount(500, 80_000), Random(20261115)
    guided("sql", (statement(draw).encode() for _ in range(50)), runs, tmp_path)
    counted(statements=runs, crashes=0, hangs=0)
