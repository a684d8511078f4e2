"""Public look-up tables: added once with their digest, joined by their key."""

import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import EVERYTHING, app_of
from discreet.errors import DomainError, UnsupportedQuery, VaultError
from discreet.server.mysql.catalogue import Catalogue
from discreet.server.mysql.text import read_statement
from discreet.vault.vault import Vault

DOMAIN = """
name = "visits"
[attributes.code]
kind = "category"
values = ["250", "401", "V45"]
outside = "other"
null = true
source = "a test"
[attributes.days]
kind = "integer"
low = 1
high = 3
source = "a test"
"""
ICD = "code,chapter,chronic\n250,Endocrine,1\n401,Circulatory,1\n999,Other,0\n"
DAYS = "n,word\n1,one\n2,two\n3,three\n"


@pytest.fixture
def vault(tmp_path):
    (tmp_path / "visits.toml").write_text(DOMAIN)
    (tmp_path / "icd9.csv").write_text(ICD)
    (tmp_path / "words.csv").write_text(DAYS)
    rows = pd.DataFrame({"code": ["250"] * 4 + ["401"] * 3 + ["V45"] * 2 + ["X"] + [None], "days": [1, 2] * 5 + [3]})
    given = {"table": rows, "domain": tmp_path / "visits.toml", "epsilon": 6_000_000, "neighbours": "add-remove"}
    made = Vault.init(tmp_path / "vault", **given)
    made.lookups.add(tmp_path / "icd9.csv", name="icd9", key="code")
    made.lookups.add(tmp_path / "words.csv", name="words", key="n")
    return made


def lines(vault, sql):
    answer = vault.ask(sql, scale="0.00001")
    return [(*labels, *(row.value for row in rows)) for labels, rows in answer.lines]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT i.chapter, COUNT(*) AS n FROM visits v JOIN icd9 i ON v.code = i.code GROUP BY 1 ORDER BY 1",
            [("Circulatory", 3), ("Endocrine", 4)],
        ),
        (
            "SELECT chapter, COUNT(*) AS n FROM visits LEFT JOIN icd9 USING (code) GROUP BY 1 ORDER BY n, chapter",
            [("Circulatory", 3), ("Endocrine", 4), (None, 4)],
        ),
        ("SELECT COUNT(*) AS n FROM visits v, icd9 i WHERE v.code = i.code AND i.chronic = 1 AND v.days = 1", [(4,)]),
        (
            "SELECT w.word, i.chapter, COUNT(*) AS n FROM visits v JOIN words w ON w.n = v.days "
            "JOIN icd9 i ON i.code = v.code GROUP BY 1, 2 HAVING COUNT(*) > 1.5 ORDER BY 3, 1",
            [("one", "Circulatory", 2), ("one", "Endocrine", 2), ("two", "Endocrine", 2)],
        ),
        (
            "SELECT i.chapter, t.n FROM (SELECT code, COUNT(*) AS n FROM visits GROUP BY code) t "
            "JOIN icd9 i ON i.code = t.code ORDER BY t.n",
            [("Circulatory", 3), ("Endocrine", 4)],
        ),
        ("SELECT SUM(v.days * i.chronic) AS n FROM visits v LEFT JOIN icd9 i ON v.code = i.code", [(10,)]),
    ],
)
def test_a_look_up_table_is_joined_by_its_key(vault, sql, expected):
    assert lines(vault, sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM visits v JOIN icd9 i ON v.days = i.chronic",
        "SELECT COUNT(*) FROM visits v, icd9 i",
        "SELECT COUNT(*) FROM visits v RIGHT JOIN icd9 i ON v.code = i.code",
        "SELECT COUNT(*) FROM visits v LEFT JOIN icd9 i ON v.code = i.code AND i.chronic = 1",
        "SELECT COUNT(*) FROM visits v JOIN icd9 i ON v.code = i.code WHERE i.nosuch = 1",
        "SELECT * FROM icd9",
    ],
)
def test_another_join_is_refused_and_spends_nothing(vault, sql):
    before = vault.ledger.charges
    with pytest.raises(UnsupportedQuery):
        vault.ask(sql, scale=10)
    assert vault.ledger.charges == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("code,a\n1,x\n1,y\n", "the key '1' is on lines 2 and 3"),
        ("code,a\n,x\n", "line 2 of the file has no key"),
        ("code,a\n1\n", "line 2 of the file has 1 cells, not 2"),
        ("nokey,a\n1,x\n", "no column 'code'"),
        ("code,code\n1,x\n", "one name"),
        ("", "not CSV"),
        ("code,\udcff", "not CSV|surrogates"),
    ],
)
def test_a_file_that_is_no_code_list_is_refused(vault, tmp_path, content, words):
    path = tmp_path / "bad.csv"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UnsupportedQuery, match=words):
        vault.lookups.add(path, name="bad", key="code")
    assert "bad" not in vault.lookups.current()


def test_a_look_up_table_stays_as_it_is(vault, tmp_path):
    vault.lookups.add(tmp_path / "icd9.csv", name="icd9", key="code")
    (tmp_path / "icd9.csv").write_text(ICD + "7,x,1\n")
    with pytest.raises(VaultError, match="already"):
        vault.lookups.add(tmp_path / "icd9.csv", name="icd9", key="code")
    with pytest.raises(VaultError, match="name of the vault's table"):
        vault.lookups.add(tmp_path / "icd9.csv", name="visits", key="code")
    [file] = (vault.path / "lookups").glob("icd9-*.csv")
    file.write_text(ICD.replace("Endocrine", "Other"))
    with pytest.raises(VaultError, match="not the one that was added"):
        vault.lookups.current()


def test_the_audit_knows_look_up_tables(vault):
    audit = audit_vault(vault.path)
    assert audit.holds, audit.findings


def test_the_command_line_adds_lists_and_asks(vault, tmp_path):
    vault.ledger.close()
    (tmp_path / "more.csv").write_text("code,title\n250,Diabetes\n")
    run, app = CliRunner(), app_of(EVERYTHING)
    home = str(vault.path)
    added = run.invoke(app, ["lookup", "add", home, str(tmp_path / "more.csv"), "--name", "more", "--key", "code"])
    assert added.exit_code == 0, added.output
    listed = run.invoke(app, ["lookup", "list", home])
    assert "icd9" in listed.output
    assert "more" in listed.output
    asked = run.invoke(app, ["ask", home, "SELECT m.title, COUNT(*) AS n FROM visits v JOIN more m ON m.code = v.code "
                             "GROUP BY m.title", "--scale", "0.00001"])  # fmt: skip
    assert "Diabetes" in asked.output, asked.output


def test_an_unknown_table_names_the_look_up_tables_that_there_are(vault, tmp_path):
    with pytest.raises(
        UnsupportedQuery, match=r"no table 'airlines'.*ask FROM visits, and join it with .*: icd9, words$"
    ):
        vault.ask("SELECT a.name, COUNT(*) FROM visits JOIN airlines AS a ON a.code = visits.code GROUP BY a.name")
    given = {"table": pd.DataFrame({"code": ["250"], "days": [1]}), "epsilon": 1, "neighbours": "add-remove"}
    bare = Vault.init(tmp_path / "bare", domain=tmp_path / "visits.toml", **given)
    with pytest.raises(UnsupportedQuery, match="discreet lookup add"):
        bare.ask("SELECT a.name, COUNT(*) FROM visits JOIN airlines AS a ON a.code = visits.code GROUP BY a.name")


def test_clients_are_shown_the_look_up_tables(vault):
    catalogue = Catalogue(vault.domain, vault.lookups.current())

    def shown(sql):
        return [*catalogue.show(read_statement(sql), (), ()).rows]

    assert shown("SHOW TABLES") == [("visits",), ("visits_with_intervals",), ("icd9",), ("words",)]
    assert [line[:3] for line in shown("SHOW COLUMNS FROM icd9")] == [
        ("code", "varchar(3)", "NO"),
        ("chapter", "varchar(11)", "NO"),
        ("chronic", "bigint", "NO"),
    ]
    assert "CREATE TABLE `icd9`" in shown("SHOW CREATE TABLE icd9")[0][1]
    names, lines = catalogue.tables()["information_schema.columns"]
    places = names.index("TABLE_NAME"), names.index("COLUMN_NAME")
    assert ["icd9", "chapter"] in [[line[place] for place in places] for line in lines]


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ('SELECT COUNT(*) FROM visits WHERE code = "V45"', "texts go in single quotes, as in 'V45'"),
        ('SELECT COUNT(*) FROM visits WHERE code IN ("v45", "401")', "texts go in single quotes, as in 'V45'"),
        ("SELECT DATE_FORMAT(days, '%Y') AS y, COUNT(*) FROM visits GROUP BY 1", r"write STRFTIME\(date, '%Y-%m'\)"),
        ("SELECT TO_CHAR(days, 'YYYY') AS y, COUNT(*) FROM visits GROUP BY 1", r"write STRFTIME\(date, '%Y-%m'\)"),
    ],
)
def test_what_other_databases_write_is_refused_with_what_to_write_here(vault, sql, hint):
    with pytest.raises((UnsupportedQuery, DomainError), match=hint):
        vault.explain(sql)
