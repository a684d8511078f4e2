"""Several tables that grow together: rows of the next period come in, and all others stay where and whose they were."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app, present
from discreet.errors import DomainError, TableError, UnsupportedQuery, VaultError
from discreet.ledger import checkpoint
from discreet.noise.bits import Bits
from discreet.vault import Vault
from discreet.vault.several import KEY_WORDS
from discreet.vault.succession import current_snapshots

DATE = 'kind = "date"\nlow = 2026-01-01\nhigh = 2026-06-30\nperiod = "month"\ngrows = true\nsource = "a test"\n'
DOMAIN = f"""\
[tables.people]
id = "who"
[tables.people.attributes.registered]
{DATE}
[tables.people.attributes.sex]
kind = "category"
values = ["F", "M"]
source = "a test"
[tables.visits]
id = "who"
parent = "people"
max_rows = 3
[tables.visits.attributes.day]
{DATE}
[tables.visits.attributes.ward]
kind = "category"
values = ["A", "B"]
source = "a test"
[tables.drugs]
parent = "visits"
key = "visit"
max_rows = 4
[tables.drugs.attributes.drug]
kind = "category"
values = ["x", "y"]
source = "a test"
[tables.eyes]
id = "who"
[tables.eyes.attributes.eye]
kind = "category"
values = ["blue", "brown"]
source = "a test"
"""
GROWING = ("people", "visits", "drugs")
EXACT = "1/1000"


def day(month):
    return f"2026-{month:02d}-05"


def tables(people, visits, drugs):
    """People by who, month and sex; visits by who, visit, month and ward; drugs by visit and drug."""
    return {
        "people": pd.DataFrame([(w, day(m), s) for w, m, s in people], columns=["who", "registered", "sex"]),
        "visits": pd.DataFrame([(w, v, day(m), a) for w, v, m, a in visits], columns=["who", "visit", "day", "ward"]),
        "drugs": pd.DataFrame(drugs, columns=["visit", "drug"]),
    }


EYES = pd.DataFrame({"who": ["ann", "bob"], "eye": ["blue", "brown"]})
JANUARY = tables(
    [("ann", 1, "F"), ("bob", 1, "M")],
    [("ann", "v1", 1, "A"), ("bob", "v2", 1, "B"), ("bob", "v3", 1, "A")],
    [("v1", "x"), ("v2", "y")],
)
FEBRUARY = tables(
    [("cyd", 2, "F"), ("ann", 2, "M")],  # ann is registered again: she stays what she was
    [("ann", "v4", 2, "B"), ("cyd", "v5", 2, "A"), ("bob", "v6", 2, "A"), ("bob", "v7", 2, "A"), ("dan", "v8", 2, "A")],
    [("v4", "x"), ("v1", "y"), ("v5", "y"), ("v8", "x")],  # v1 is of January
)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(present.out, "_width", 200)
    (tmp_path / "d.toml").write_text(DOMAIN)
    for name, frame in {**JANUARY, "eyes": EYES}.items():
        frame.to_parquet(f"{name}.parquet")
    return tmp_path


def made(path="vault", **more):
    files = {name: f"{name}.parquet" for name in (*GROWING, "eyes")}
    given = {"neighbours": "add-remove", "epsilon": 10**6, "through": "2026-01", **more}
    return Vault.init(path, table=files, domain="d.toml", **given)


def rows_of(vault):
    """Every row of every table, in order: its person, and its labels."""
    found = {}
    for one in current_snapshots(vault):
        codes = [one.column(f"codes-{axis}").tolist() for axis in range(len(one.domain.attributes))]
        keys = one.column("people")[one.column("person")].tolist()
        found[one.folder.name] = [
            (key, *(attribute.label(code) for attribute, code in zip(one.domain.attributes, row, strict=True)))
            for key, *row in zip(keys, *codes, strict=True)
        ]
    return found


def labels(vault):
    return {name: sorted(row[1:] for row in rows) for name, rows in rows_of(vault).items()}


def value(vault, sql):
    return vault.ask(sql, scale=EXACT).rows[0].value


class TestWhatComesIn:
    def test_rows_of_the_period_come_behind_those_that_are_there_which_stay_as_they_were(self):
        vault = made()
        before = rows_of(vault)
        vault.append(FEBRUARY)
        after = rows_of(vault)
        assert all(after[name][: len(rows)] == rows for name, rows in before.items())
        assert after["eyes"] == before["eyes"]
        new = {name: sorted(row[1:] for row in after[name][len(before[name]) :]) for name in GROWING}
        assert new["people"] == [("2026-02", "F")]
        assert new["drugs"] == [
            ("x", "2026-02", "B", "2026-01", "F"),
            ("y", "2026-02", "A", "2026-02", "F"),
        ]
        # bob has two of three rows already, and keeps one more; dan is nobody.
        assert new["visits"] == [
            ("2026-02", "A", "2026-01", "M"),
            ("2026-02", "A", "2026-02", "F"),
            ("2026-02", "B", "2026-01", "F"),
        ]

    def test_what_is_asked_is_about_closed_periods_and_what_was_released_stays_true_and_free(self):
        vault = made()
        sql = "SELECT day, COUNT(*) FROM visits GROUP BY day"
        assert [row.labels for row in vault.ask(sql, scale=EXACT).rows] == [("2026-01",)]
        assert value(vault, "SELECT COUNT(*) FROM people WHERE sex = 'F'") == 1
        vault.append(FEBRUARY)
        again = vault.ask(sql, scale=EXACT)
        assert [(row.labels[0], row.value, row.kind) for row in again.rows] == [
            ("2026-01", 3, "repeated"),
            ("2026-02", 3, "measured"),
        ]
        assert value(vault, "SELECT COUNT(*) FROM people WHERE sex = 'F'") == 2
        assert value(vault, "SELECT COUNT(*) FROM drugs WHERE day = '2026-02'") == 2
        assert vault.table("eyes").domain.growing is None
        assert value(vault, "SELECT COUNT(*) FROM eyes") == 2
        assert audit_vault(vault).holds

    def test_nothing_is_levelled_and_new_people_have_spent_nothing(self):
        vault = made(epsilon=1)
        vault.ask("SELECT COUNT(*) FROM people", scale=10)
        vault.ask("SELECT COUNT(*) FROM visits WHERE ward = 'A'", scale=30)
        promise, spent = vault.ledger.guarantee, vault.ledger.spent_max
        vault.append(FEBRUARY)
        assert (vault.ledger.guarantee, vault.ledger.spent_max) == (promise, spent)
        people = vault.table("people").ledger
        left = people.left_by([people.domain.axis("registered")])
        limit = vault.ledger.budget.limit
        assert left[0] == limit - spent
        # A point of a person's attributes has what was charged there: whoever came in February has spent nothing.
        assert left[1:].tolist() == [limit] * 5
        assert audit_vault(vault).holds

    def test_periods_may_be_skipped_over_and_sources_be_where_they_were(self, place):
        vault, other = made(), made("other")
        for name, frame in FEBRUARY.items():
            pd.concat([JANUARY[name], frame]).drop_duplicates().to_parquet(place / f"{name}.parquet")
        other.append(through="2026-03")
        vault.append({"people": FEBRUARY["people"], "visits": FEBRUARY["visits"]}, through="2026-03")
        assert other.ledger.closed_period == vault.ledger.closed_period == "2026-03"
        assert {name: len(rows) for name, rows in rows_of(other).items()} == {
            name: len(rows) for name, rows in rows_of(vault).items()
        }

    def test_a_charge_that_was_cut_off_is_completed_from_the_rows_that_it_paid_for(self, monkeypatch):
        vault = made()
        over = vault.table("visits")
        with monkeypatch.context() as broken:
            broken.setattr(type(over.gate), "_answer", lambda *_: (_ for _ in ()).throw(RuntimeError))
            with pytest.raises(RuntimeError):
                over.measure(over.count(), scale=EXACT)
        vault.append(FEBRUARY)
        [release] = vault.complete()
        assert int(release.answers[0].units) == 3


def grown(people, visits, drugs, path):
    """What several months come to, one after the other."""
    vault = made(path)
    for month in (2, 3, 4):
        some = tables([one for one in people if one[1] == month], [one for one in visits if one[2] == month], drugs)
        vault.append(some)
    return vault


PEOPLE = [("cyd", 2, "F"), ("dan", 3, "M"), ("eve", 2, "M")]
VISITS = [(who, f"{who}{n}", month, ward) for who in ("ann", "cyd", "dan", "eve") for n, (month, ward) in
          enumerate([(2, "A"), (2, "B"), (3, "A"), (3, "B"), (4, "A")])]  # fmt: skip
DRUGS = [(visit, drug) for _, visit, _, _ in VISITS for drug in "xy"]


class TestWhoseRowsAreKept:
    def test_no_more_of_a_person_than_is_promised_over_all_periods(self):
        rows = rows_of(grown(PEOPLE, VISITS, DRUGS, "all"))
        most = {name: max(Counter(key for key, *_ in found).values()) for name, found in rows.items()}
        assert most == {"people": 1, "visits": 3, "drugs": 4, "eyes": 1}

    @pytest.mark.parametrize("whom", ["ann", "cyd", "eve"])
    def test_taking_a_person_out_of_every_file_changes_nobody_elses_rows(self, monkeypatch, whom):
        monkeypatch.setattr("discreet.vault.several.Bits", SameKey)
        rows = rows_of(grown(PEOPLE, VISITS, DRUGS, "all"))
        for name in (*GROWING, "eyes"):
            frame = pd.read_parquet(f"{name}.parquet")
            gone = set(JANUARY["visits"].query("who == @whom").visit)
            frame = frame[~frame.visit.isin(gone)] if name == "drugs" else frame[frame.who != whom]
            frame.to_parquet(f"{name}.parquet")
        less = rows_of(
            grown(
                [one for one in PEOPLE if one[0] != whom],
                [one for one in VISITS if one[0] != whom],
                [one for one in DRUGS if not one[0].startswith(whom)],
                "less",
            )
        )
        key = {row[0] for row in rows["people"]} - {row[0] for row in less["people"]}
        assert len(key) == 1
        assert less == {name: [row for row in found if row[0] not in key] for name, found in rows.items()}

    def test_all_rows_of_a_person_have_the_attributes_that_came_first(self):
        rows = rows_of(grown([*PEOPLE, ("cyd", 3, "M"), ("cyd", 4, "M")], VISITS, DRUGS, "all"))
        own = {row[0]: row[1:] for row in rows["people"]}
        assert all(row[-2:] == own[row[0]] for name in ("visits", "drugs") for row in rows[name])

    def test_whoever_was_erased_is_left_out_of_what_is_appended(self):
        vault = made()
        vault.erase(pd.DataFrame({"who": ["bob", "cyd"]}))
        fits = []
        vault.append(FEBRUARY, fitted=fits.append)
        assert {name: len(rows) for name, rows in rows_of(vault).items()} == {
            "people": 1, "visits": 2, "drugs": 2, "eyes": 1,
        }  # fmt: skip
        assert {fit.table: fit.late for fit in fits} == {"people": 0, "visits": 0, "drugs": 1}
        vault.erase(pd.DataFrame({"who": ["ann"]}))
        assert sum(map(len, rows_of(vault).values())) == 0
        assert vault.ledger.closed_period == "2026-02"


class SameKey(Bits):
    """The same secret key for every vault, so that lots are the same; and names of vaults as ever."""

    def words(self, count):
        return np.arange(1, count + 1, dtype=np.uint64) if count == KEY_WORDS else super().words(count)


class TestWhatIsRefused:
    def test_a_row_that_is_called_as_one_of_an_earlier_period(self):
        vault = made()
        again = tables([], [("ann", "v2", 2, "A")], [])
        with pytest.raises(TableError, match="visits: 2 rows have a visit that another row has too"):
            vault.append(again)
        assert (vault.ledger.head.seq, vault.ledger.closed_period) == (1, "2026-01")

    def test_a_table_that_does_not_grow(self):
        with pytest.raises(UnsupportedQuery, match="eyes does not grow"):
            made().append({"eyes": EYES})

    def test_a_period_that_is_closed(self):
        vault = made()
        vault.append(FEBRUARY)
        with pytest.raises(VaultError, match="2026-02 is closed already"):
            vault.append(FEBRUARY, through="2026-02")

    def test_rows_of_each_period_by_themselves(self):
        with pytest.raises(UnsupportedQuery, match="takes no each_period"):
            made("other", each_period=True)

    def test_a_vault_that_does_not_say_up_to_when(self):
        with pytest.raises(DomainError, match="say up to which month it is complete now"):
            made("other", through=None)

    def test_tables_with_other_calendars(self, place):
        text = DOMAIN.replace("high = 2026-06-30", "high = 2026-07-31", 1)
        (place / "d.toml").write_text(text)
        with pytest.raises(DomainError, match="tables grow together: day needs the period and the high of people"):
            made("other")

    def test_a_late_row_where_the_domain_says_so(self, place):
        text = DOMAIN.replace("grows = true\n", 'grows = true\nlate = "refuse"\n')
        (place / "d.toml").write_text(text)
        vault = made("other")
        with pytest.raises(TableError, match="drugs: the table has rows of day up to 2026-01, which are closed"):
            vault.append(FEBRUARY)

    def test_a_refresh_after_an_append_wants_to_know_where_all_rows_are(self):
        vault = made()
        vault.append(FEBRUARY)
        with pytest.raises(VaultError, match="say where all rows of visits are"):
            vault.refresh({"people": JANUARY["people"]})
        both = {name: pd.concat([JANUARY[name], FEBRUARY[name]]) for name in GROWING}
        both["people"] = both["people"].drop_duplicates("who")
        vault.refresh(both)
        assert vault.ledger.closed_period == "2026-02"
        assert len(rows_of(vault)["visits"]) == 6


def run(*line):
    result = CliRunner().invoke(app, line)
    return result.exit_code, " ".join(result.output.split())


def test_the_command_line(place):
    line = [f"--table={name}={name}.parquet" for name in (*GROWING, "eyes")]
    more = ["--domain=d.toml", "--epsilon=1", "--neighbours=add-remove", "--through=2026-01", "--quiet"]
    assert run("init", "vault", *line, *more)[0] == 0
    for name, frame in FEBRUARY.items():
        frame.to_parquet(place / f"{name}-02.parquet")
    given = [f"{name}={name}-02.parquet" for name in GROWING]
    code, said = run("append", "vault", *given, "--quiet")
    assert code == 0, said
    assert said.startswith("The tables go up to 2026-02 now, as snapshot 2; what was released stays true")
    assert "grows by registered: closed up to 2026-02" in run("describe", "vault")[1]
    assert "--table" in run("append", "vault", "visits-02.parquet")[1]
    assert run("append", "vault", *given)[0] == 1  # none of their rows is of March
    code, said = run("append", "vault", *given, "--quiet", "--json")
    assert json.loads(said)["closed"] == "2026-03"
    assert run("audit", "vault", "vault")[0] == 0


def test_a_refresh_with_files_that_lack_an_appended_month_stops(place):
    """What was appended would be gone, and nothing but a share of lost rows was looked at."""
    made().append(FEBRUARY)
    line = [f"--table={name}={name}.parquet" for name in (*GROWING, "eyes")]
    code, said = run("refresh", "vault", *line)
    assert code == 1
    assert "no row of people is of 2026-02, though closed: the vault stays over the snapshot that it has" in said
    assert Vault.open("vault").ledger.snapshot.number == 2
    both = {name: pd.concat([JANUARY[name], FEBRUARY[name]]) for name in GROWING}
    both["people"] = both["people"].drop_duplicates("who")
    for name, frame in both.items():
        frame.to_parquet(place / f"{name}.parquet")
    assert run("refresh", "vault", *line, "--accept-loss=1")[0] == 0
    assert run("refresh", "vault", *line, "--quiet")[0] == 0


def test_it_is_opened_from_a_checkpoint_as_it_was(monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 3)
    vault = made()
    vault.append(FEBRUARY)
    for scale in range(20, 30):
        vault.ask("SELECT COUNT(*) FROM visits WHERE ward = 'A'", scale=f"1/{scale}")
    again = Vault.open("vault")
    assert again.ledger._followed.state.begun_at.seq > 2
    assert again.table("drugs").domain == vault.table("drugs").domain
    assert again.budget() == vault.budget()
