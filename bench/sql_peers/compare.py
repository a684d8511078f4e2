"""The list put to the tools, and their answers beside the truth."""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from bench.foundation import state_home
from bench.peers.environment import NotInstalled, Peer, interpreter
from bench.postgres import Postgres, serving
from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from tests.questions.judge import canonical
from tests.questions.listed import ListedQuestion, questions
from tests.questions.tables import ID, LOOKUPS, MAX_ROWS, TABLES, vault_over
from tests.questions.truth import truth_of

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
ROW = "row_number"
"""A column that numbers the rows, for tools that want one."""
CLOSE, CLOSE_TO_ZERO = 0.01, 0.005
SECONDS = 1800
FUNCTIONS = ("count", "sum", "avg", "min", "max", "month", "year", "quarter", "median", "index", "stddev", "share")
"""Words that some tool keeps for itself."""
TYPES = {"BIGINT": "integer", "DOUBLE": "double precision", "VARCHAR": "text", "BOOLEAN": "boolean"}
PEERS = (
    Peer("smartnoise", "SmartNoise SQL", ("smartnoise-sql", "psycopg2-binary")),
    Peer("qrlew", "Qrlew", ("pyqrlew", "psycopg2-binary")),
    Peer(
        "tumult",
        "Tumult Analytics, translated",
        ("tmlt.analytics", "pyarrow", "psycopg2-binary", "duckdb", "sqlglot<29"),
    ),
)


EVERY = {"tumult": 9}
"""Each so manieth question is put to a tool that takes ten seconds and more for one."""


@dataclass(frozen=True)
class Found:
    """What became of the list in a tool's hands."""

    title: str
    version: str
    asked: int = 0
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    not_answered: int = 0
    errors: tuple[str, ...] = ()
    not_installed: str = ""


def compared(peers: Sequence[Peer] = PEERS) -> Iterator[Found]:
    """Each tool's answers to the whole list."""
    with tempfile.TemporaryDirectory() as folder, state_home(folder), serving() as postgres:
        truths, schema = {}, {}
        for name in TABLES:
            vault = vault_over(name, Path(folder, name))
            truths[name] = truth_of(vault)
            schema |= loaded(name, vault.domain, truths[name], postgres)
        Path(folder, "schema.json").write_text(json.dumps(schema))
        asked = [{"name": q.name, "table": q.table, "spellings": spellings(q)} for q in questions()]
        Path(folder, "questions.json").write_text(json.dumps(asked))
        for peer in peers:
            yield answered(peer, Path(folder), postgres, truths)


def spellings(question: ListedQuestion) -> list[str]:
    """The list's text, DuckDB's, and the plainest Postgres: no quotes, no functions' names for columns."""
    tree = sqlglot.parse_one(question.reference.rstrip("; \n"), read="duckdb")
    for name in tree.find_all(exp.Identifier):
        word = re.sub(r"\W+", "_", name.this.lower()).strip("_")
        name.replace(exp.to_identifier(f"{word}_of_it" if word in FUNCTIONS else word, quoted=False))
    for key in tree.find_all(exp.Ordered):
        key.set("nulls_first", bool(key.args.get("desc")))  # as Postgres has it where nothing is said
    return list(dict.fromkeys([question.sql, question.reference, tree.sql("postgres", comments=False)]))


def loaded(name: str, domain: Domain, truth: duckdb.DuckDBPyConnection, postgres: Postgres) -> dict[str, Any]:
    """Copy a table and its look-ups to Postgres, and say what is public about them."""
    found: dict[str, Any] = {}
    for table in (name, *LOOKUPS[name]):
        own = f"SELECT {f'row_number() OVER () AS {ROW}, ' if table == name else ''}* FROM {table}"
        relation = truth.sql(own)
        types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        columns = ", ".join(f'"{column}" {TYPES[kind]}' for column, kind in types.items())
        postgres.execute(f"CREATE TABLE {table} ({columns})")
        with postgres.connect() as session, session.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for row in relation.fetchall():
                copy.write_row(row)
        about = {column: described(column, kind, domain, truth, table) for column, kind in types.items()}
        is_private, has_id = table == name, ID in types
        found[table] = {
            "columns": about,
            "rows": len(relation),
            "private": is_private,
            "id": ID if has_id else None,
            "row": ROW,
            "max_rows": MAX_ROWS if has_id else 1,
        }
    return found


def described(column: str, kind: str, domain: Domain, truth: duckdb.DuckDBPyConnection, table: str) -> dict[str, Any]:
    """A column's type and its public bounds or values; of public tables and groups, what they hold."""
    about: dict[str, Any] = {"type": TYPES[kind], "nullable": False}
    match next((one for one in domain.attributes if one.name == column and table == domain.name), None):
        case Integer(low=low, high=high):
            return about | {"lower": low, "upper": high}
        case Bins(edges=edges):
            return about | {"lower": float(edges[0] or 0), "upper": float(edges[-1] or 0)}
        case Category(values=values, null=null, outside=outside) if kind == "VARCHAR":
            return about | {"nullable": null, "values": [*values, *["(other)"] * (outside == "other")]}
    if kind == "VARCHAR":
        held = truth.sql(f'SELECT DISTINCT "{column}" FROM {table} WHERE "{column}" IS NOT NULL ORDER BY 1').fetchall()
        return about | {"nullable": True, "values": [value for (value,) in held]}
    if kind in ("BIGINT", "DOUBLE") and column not in (ID, ROW):
        low, high = truth.sql(f'SELECT MIN("{column}"), MAX("{column}") FROM {table}').fetchall()[0]
        return about | {"lower": low, "upper": high}
    return about


def answered(peer: Peer, folder: Path, postgres: Postgres, truths: dict[str, duckdb.DuckDBPyConnection]) -> Found:
    try:
        python = interpreter(peer)
    except NotInstalled as why:
        return Found(peer.title, "", not_installed=str(why))
    every = str(EVERY.get(peer.tool, 1))
    command = [python, "-m", "bench.sql_peers.worker", peer.tool, str(folder), postgres.ledger(), every]
    done = subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, timeout=SECONDS, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if not lines:
        return Found(peer.title, "", not_installed=done.stderr.strip().splitlines()[-1])
    last_words = (done.stderr.strip().splitlines() or ["it ended before"])[-1]
    by_name = {question.name: question for question in questions()[:: int(every)]}
    right, wrong, errors = set(), {}, {}
    for line in lines[1:]:
        question = by_name[line["name"]]
        if "error" in line:
            errors.setdefault(question.name, line["error"])
        elif why := difference(line["columns"], line["rows"], question, truths[question.table]):
            wrong.setdefault(question.name, why)
        else:
            right.add(question.name)
    failed = [name for name in by_name if name not in right and name not in wrong]
    return Found(
        peer.title,
        lines[0]["version"],
        len(by_name),
        tuple(name for name in by_name if name in right),
        tuple(f"{name}: {why}" for name, why in wrong.items() if name not in right),
        len(failed),
        tuple(f"{name}: {errors.get(name, last_words)}" for name in failed),
    )


def difference(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], question: ListedQuestion, truth: duckdb.DuckDBPyConnection
) -> str:
    """How a tool's lines differ from the truth, in whatever order; empty where they do not."""
    relation = truth.sql(question.reference)
    names = [column.lower() for column in columns]
    wanted = [column.lower() for column in relation.columns]
    places = [names.index(column) for column in wanted] if sorted(names) == sorted(wanted) else range(len(wanted))
    left = relation.fetchall()
    if len(columns) != len(wanted):
        return f"{len(columns)} columns, not {len(wanted)}"
    for row in rows:
        line = [row[place] for place in places]
        match = next((other for other in left if all(map(_same, line, other))), None)
        if match is not None:
            left.remove(match)
        elif not _is_nobody(line):
            return f"a line that is not there: {line}"
    return f"without {len(left)} of {len(left) + len(rows)} lines, such as {left[0]}" if left else ""


def _is_nobody(line: Sequence[Any]) -> bool:
    """Whether a line is of a group without people, as tools show them that know the groups beforehand."""
    numbers = [value for value in line if isinstance(value, int | float) and not isinstance(value, bool)]
    return len(line) > 1 and bool(numbers) and abs(numbers[-1]) < 1


def _same(value: Any, true: Any) -> bool:
    one, other = canonical(value), canonical(true)
    if isinstance(true, bool):  # which some tools have as 1 and 0
        return one in (other, float(true))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= CLOSE * abs(other) + CLOSE_TO_ZERO
    return one == other
