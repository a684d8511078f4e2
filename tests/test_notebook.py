"""What notebooks show: a few lines of a vault, a plan, a budget, an answer; frames and pictures of answers; and nothing
of libraries when the kernel ends."""

import json
import subprocess
import sys
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.answer.frame import label_array
from discreet.errors import JournalError, PictureError
from discreet.ledger.ledger import Ledger
from discreet.notebook import NotebookView, brief
from discreet.plain import plain
from discreet.remote.results import RemoteAnswer
from discreet.vault import Vault

DOMAIN = """\
name = "people"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "form"
[attributes.age]
kind = "integer"
low = 0
high = 99
source = "form"
"""


@pytest.fixture
def vault(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "people.toml").write_text(DOMAIN)
    pq.write_table(pa.table({"sex": ["F", "M"] * 500, "age": np.arange(1000) % 100}), "people.parquet")
    return Vault.init("vault", table="people.parquet", domain="people.toml", epsilon=1, neighbours="add-remove")


def test_everything_is_shown_in_a_few_short_lines_and_as_html(vault):
    plan = vault.cubes.plan(epsilon="1/2")
    release = vault.measure(vault.count(by="sex"), scale=20)
    explained = vault.explain("SELECT sex, COUNT(*) FROM people GROUP BY sex", scale=50)
    for thing in (vault, plan, release.plan, vault.budget(), explained):
        lines = repr(thing).splitlines()
        assert 1 < len(lines) <= 12
        assert max(map(len, lines)) < 200
        assert thing._repr_html_().startswith("<b>")
    assert "sex 2 × age 100" in repr(vault)
    assert "0.05" in repr(vault)
    assert "count  over 1 box by sex, scale 20" in repr(release.plan)
    assert "cuboids" in repr(plan)


def test_html_quotes_what_it_shows():
    class Odd(NotebookView):
        def _shown(self):
            return "<title>", [("<name>", "<script>")]

    assert "<script>" not in Odd()._repr_html_()
    assert "<name>" not in Odd()._repr_html_()


def test_a_vault_whose_journal_cannot_be_read_is_shown_all_the_same(vault, monkeypatch):
    def broken(_ledger):
        raise JournalError("it is gone")

    monkeypatch.setattr(Ledger, "spent_max", property(broken))
    assert repr(vault).startswith("<Vault over people>")


def test_an_answer_becomes_a_frame_a_table_and_a_picture(vault, tmp_path):
    answer = vault.ask("SELECT sex, COUNT(*), AVG(age) FROM people GROUP BY sex", scale=20)
    table = answer.to_arrow()
    first, second = answer.columns
    assert table.column_names == [
        "sex",
        first,
        f"{first}_low",
        f"{first}_high",
        second,
        f"{second}_low",
        f"{second}_high",
        "kind",
        "answered_for",
    ]
    assert table["sex"].to_pylist() == ["F", "M"]
    numbers = [row.value for row in answer.rows if row.column == first]
    assert table[first].to_pylist() == numbers
    frame = answer.to_pandas()
    assert frame[first].tolist() == numbers
    assert (frame[f"{first}_low"] <= frame[first]).all()
    for column in (None, second):
        answer.plot(column).savefig(tmp_path / "answer.png")
    vault.ask("SELECT age, COUNT(*) FROM people GROUP BY age", scale=200).plot().savefig(tmp_path / "long.png")
    vault.ask("SELECT COUNT(*) FROM people", scale=200).plot().savefig(tmp_path / "one.png")
    with pytest.raises(PictureError, match="no column"):
        answer.plot("nothing")


SESSION = """
import duckdb, ibis, sys
from discreet.plain import plain
from discreet.vault import Vault
for name in ("one.duckdb", "two.duckdb"):
    with duckdb.connect(name) as made:
        made.execute("CREATE TABLE people AS SELECT 'F' AS sex, i % 100 AS age FROM range(5000) t(i)")
kept = []
for place, table in (("a", "one.duckdb"), ("b", ibis.duckdb.connect("two.duckdb").table("people"))):
    vault = Vault.init(place, table=table, domain="people.toml", epsilon=1, neighbours="add-remove")
    kept += [vault, vault.ask("SELECT COUNT(*) FROM people", scale=10), vault.refresh(table)]
    try:
        Vault.init("c", table=table, domain="people.toml", epsilon=1, neighbours="add-remove", id="nobody", max_rows=1)
    except Exception as error:
        kept.append(error)
sys.modules["kept"] = kept
"""


@pytest.mark.alarm(0)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM people",
        "SELECT sex, COUNT(*), AVG(age) FROM people GROUP BY sex",
        "SELECT COUNT(DISTINCT sex), MEDIAN(age) FROM people",
        "SELECT age, COUNT(DISTINCT sex) AS n FROM people GROUP BY age",  # cut at 0 and at 2: even by chance
        "SELECT sex, COUNT(*) / SUM(age) AS x, 1 AS one FROM people GROUP BY sex ORDER BY sex DESC",
        "SELECT 'same' AS label, COUNT(*) AS n FROM people GROUP BY sex",
        "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING COUNT(*) < -1000000",
        "SELECT age, COUNT(*) FROM people WHERE age < 3 GROUP BY age",
    ],
)
def test_an_answer_of_a_server_is_shown_as_one_of_a_vault(vault, sql):
    vault.ask("SELECT COUNT(*) FROM people WHERE age < 2", scale="1.02")  # what is left there is too little
    answer = vault.ask(sql, scale=200)
    remote = RemoteAnswer.of(json.loads(json.dumps(answer.to_json(), default=plain)))
    assert remote.table() == answer.table()
    assert remote.to_csv() == answer.to_csv()
    assert remote.to_arrow().equals(answer.to_arrow())
    assert str(remote).rpartition("spent")[0] == str(answer).rpartition("spent")[0]
    assert remote._repr_html_().rpartition("spent")[0] == answer._repr_html_().rpartition("spent")[0]
    assert (remote.kind, remote.cost, remote.text) == (answer.kind, answer.cost, answer.text)
    if answer.rows and answer.columns:
        assert len(remote.plot().axes) == len(answer.plot().axes) == 1


def test_a_release_shows_its_numbers(vault):
    one, many = vault.measure(vault.count(), scale=20), vault.measure(vault.count(by="age"), scale=20)
    assert f"{one.value:,} ± " in repr(one)
    assert "at 95%" in repr(one)
    assert f"{many.value[0]:,}, {many.value[1]:,}, {many.value[2]:,}, … 100 in all ± " in repr(many)


def test_a_session_that_keeps_everything_ends_without_a_word(vault):  # noqa: ARG001 -- it makes the domain's file
    done = subprocess.run([sys.executable, "-c", SESSION], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_whatever_a_vault_hands_out_is_shown_briefly(vault):
    answer = vault.ask("SELECT age, sex, COUNT(*) FROM people GROUP BY age, sex", scale=100)
    release = vault.measure(vault.count(by="sex"), scale=20)
    vault.facts.add("SELECT COUNT(*) FROM people", 1000)
    handed = [
        answer.rows[0],
        vault.explain("SELECT AVG(age) FROM people").forecasts[0],
        release,
        release.only,
        vault.facts.report(),
        *vault.facts.current(),
        vault.cubes.affordable(vault.cubes.plan(epsilon="0.1")),
        vault.cubes,
        vault.facts,
        vault.buckets,
        vault.rows,
        vault.lookups,
    ]
    for thing in handed:
        assert isinstance(thing, NotebookView)
        lines = repr(thing).splitlines()
        assert len(lines) <= 20, thing
        assert max(map(len, lines)) <= 140
        assert thing._repr_html_().startswith(f"<b>{type(thing).__name__}")


def test_a_long_answer_is_cut_in_notebooks_and_whole_in_print(vault):
    answer = vault.ask("SELECT age, sex, COUNT(*) FROM people GROUP BY age, sex", scale=100)
    assert len(answer.lines) == 200
    assert len(repr(answer).splitlines()) < 60
    assert "and 160 more lines" in repr(answer)
    assert "and 160 more lines" in answer._repr_html_()
    assert len(str(answer).splitlines()) > 200


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "–"),
        (np.zeros((3, 4)), "3 × 4 numbers"),
        ((1, 2, 3, 4), "1, 2, 3, … 4 in all"),
        ({"a": 1}, "a: 1"),
        ("x" * 200, "x" * 79 + "…"),
        (object(), "object"),
    ],
)
def test_values_are_shown_in_a_few_words(value, words):
    assert brief(value) == words


def test_a_frame_has_the_columns_as_they_were_asked_for_and_labels_as_what_they_are(tmp_path, vault):
    dated = DOMAIN + '[attributes.day]\nkind = "date"\nlow = 2024-01-01\nhigh = 2024-02-29\nsource = "form"\n'
    (tmp_path / "dated.toml").write_text(dated)
    days = np.datetime64("2024-01-01") + (np.arange(1000) % 60).astype("timedelta64[D]")
    people = pa.table({"sex": ["F", "M"] * 500, "age": np.arange(1000) % 100, "day": days})
    home = {"table": people, "domain": "dated.toml", "epsilon": 10, "neighbours": "add-remove"}
    vault = Vault.init("dated", **home)
    whole, text, number, date = pa.int64(), pa.string(), pa.float64(), pa.date32()
    for sql, kinds in {
        "SELECT COUNT(*) AS n, age FROM people GROUP BY age": {"n": number, "age": whole},
        "SELECT sex, COUNT(*) AS n, day FROM people GROUP BY day, sex": {"sex": text, "n": number, "day": date},
        "SELECT MONTH(day) AS m, COUNT(*) AS n FROM people GROUP BY MONTH(day)": {"m": whole, "n": number},
        "SELECT COUNT(*) * 2 AS n, MONTH(day) AS m FROM people GROUP BY 2": {"n": number, "m": whole},
        "SELECT COUNT(*) * 2 AS n, MAX(age) AS x, age FROM people GROUP BY age": {
            "n": number,
            "x": number,
            "age": whole,
        },
        "SELECT COUNT(*) * 2 AS n, age > 50 AS old FROM people GROUP BY 2": {"n": number, "old": text},
    }.items():
        answer = vault.ask(sql, scale=50)
        found = answer.to_arrow()
        shown = [name for name in found.column_names if name in kinds]
        assert {name: found.schema.field(name).type for name in shown} == kinds, sql
        assert shown == [*kinds], sql
        header = answer.to_csv().splitlines()[0].split(",")
        assert [name for name in header if name in kinds] == [*kinds], sql
        assert answer.to_pandas().columns.tolist() == found.column_names


def test_labels_of_a_frame_are_texts_where_one_of_them_is_and_null_where_one_is_missing():
    for labels, kind, found in (
        (["1", "2", None], "whole", [1, 2, None]),
        (["1", "(missing)"], "whole", [1, None]),
        (["1", "(other)", "(missing)"], "whole", ["1", "(other)", "(missing)"]),
        (["250 Diabetes", "401"], "whole", ["250 Diabetes", "401"]),
        (["0.5", "2"], "number", [0.5, 2.0]),
        (["2024-02-29"], "date", [date(2024, 2, 29)]),
        (["2024-02", "2024-03"], "date", ["2024-02", "2024-03"]),
        (["F", "(missing)"], "text", ["F", "(missing)"]),
        ([], "whole", []),
    ):
        assert label_array(labels, kind).to_pylist() == found
