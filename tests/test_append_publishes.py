"""Running totals and standing cubes of a table that grows: every append publishes them, and nothing more is spent."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app
from discreet.errors import BudgetExceeded, EngineError, UnsupportedQuery, VaultError
from discreet.release.gate import Gate
from discreet.vault import Vault
from tests.audit.insider import failures

pytestmark = pytest.mark.usefixtures("register")

DOMAIN = """\
name = "register"
null_ids = "drop"
[attributes.day]
kind = "date"
low = 2026-11-01
high = 2028-12-31
period = "month"
grows = true
source = "the calendar"
[attributes.born]
kind = "date"
low = 1990-01-01
high = 1999-12-31
period = "year"
source = "the calendar"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "the form"
"""
MONTHS = ["2026-11", "2026-12", "2027-01", "2027-02", "2027-03", "2027-04"]


def rows_of(place: int) -> list[tuple[int, str, str, str]]:
    return [
        (1000 * place + i, f"{MONTHS[place]}-{i % 28 + 1:02d}", f"199{i % 10}-03-04", "FM"[i % 3 % 2])
        for i in range(300 + 20 * place)
    ]


def write(path: str, *places: int) -> None:
    person, day, born, sex = zip(*(row for place in places for row in rows_of(place)), strict=True)
    pq.write_table(pa.table({"person": person, "day": day, "born": born, "sex": sex}), path)


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("begin.parquet", 0, 1)
    for place, name in enumerate(MONTHS[2:], 2):
        write(f"{name}.parquet", place)
    Path("register.toml").write_text(DOMAIN)


def make(**budget: Any) -> Vault:
    chosen = {"rho": 2, "neighbours": "add-remove", "id": "person", "max_rows": 2, **budget}
    return Vault.init("vault", table="begin.parquet", domain="register.toml", through=MONTHS[1], **chosen)


def truth(sex: str, places: int) -> int:
    return sum(row[3] == sex for place in range(places) for row in rows_of(place))


@pytest.mark.parametrize(
    "budget", [{}, {"rho": None, "epsilon": 8}, {"each_period": True}], ids=["ρ", "ε", "each period"]
)
def test_every_append_publishes_what_stands_and_spends_nothing_more(budget: dict[str, Any]) -> None:
    vault = make(**budget)
    share = {vault.ledger.budget.option: vault.ledger.budget.total / 4}
    vault.running.declare(vault.running.plan("month", by="sex", last="2027-06", **share))
    vault.cubes.standing.declare(vault.cubes.plan(dimensions=["sex"], **share), "day", last="2027-06")
    spent = vault.budget().spent
    assert len(vault.running.publish().values) == len(vault.cubes.standing.publish().cubes) == 2
    kept = vault.running.show().values
    for place, name in enumerate(MONTHS[2:5], 2):
        vault.append(f"{name}.parquet")
        totals, cubes = vault.running.show(), vault.cubes.standing.show().cubes
        assert np.array_equal(totals.values[:place], kept)
        assert list(cubes) == MONTHS[: place + 1]
        kept = totals.values
        for column, sex in enumerate("FM"):
            assert abs(kept[place, column] - truth(sex, place + 1)) < 7 * totals.plan.deviations[place]
            own = sum(row[3] == sex for row in rows_of(place))
            assert abs(cubes[name]["sex"].values[column] - own) < 7 * np.sqrt(cubes[name].variance("sex"))
    assert vault.budget().spent == spent
    again = Vault.open("vault")
    assert np.array_equal(again.running.show().values, kept)
    cubes["2026-11"].save("before")
    cubes["2027-03"].save("after")
    assert not failures(audit_vault("vault", published=["before", "after"]))


def test_what_has_not_begun_waits_and_what_is_over_stays() -> None:
    vault = make()
    later = vault.running.declare(vault.running.plan("month", first="2027-02", last="2027-06", rho="1/4")).number
    over = vault.running.declare(vault.running.plan("month", last="2026-12", rho="1/4")).number
    assert vault.running.show(later).labels[0] == "2027-02"
    vault.append("2027-01.parquet")
    assert (len(vault.running.show(later).values), len(vault.running.show(over).values)) == (0, 2)
    vault.append("2027-02.parquet")
    assert (len(vault.running.show(later).values), len(vault.running.show(over).values)) == (1, 2)
    with pytest.raises(UnsupportedQuery, match="2027-03 is not closed yet: the table goes up to 2027-02"):
        vault.running.publish(later, through="2027-03")


def test_where_nothing_is_said_all_that_is_closed_has_ended_also_before_they_begin_and_after_they_end() -> None:
    vault = make()
    later = vault.running.declare(vault.running.plan("month", first="2027-02", last="2027-06", rho="1/8")).number
    over = vault.running.declare(vault.running.plan("month", last="2026-11", rho="1/8")).number
    assert (len(vault.running.publish(later).values), len(vault.running.publish(over).values)) == (0, 1)
    asked = ["cube", "publish", "vault", "--each", "month", "--dimensions", "sex", "--rho", "1/8", "--json", "--out"]
    done = CliRunner().invoke(app, [*asked, "later", "--first", "2027-02"])
    assert (done.exit_code, json.loads(done.stdout)["written"]) == (0, [])
    done = CliRunner().invoke(app, [*asked, "over", "--last", "2026-11"])
    assert (done.exit_code, json.loads(done.stdout)["written"]) == (0, ["2026-11"])


def test_only_periods_by_which_a_table_grows_have_ended() -> None:
    vault = make()
    with pytest.raises(UnsupportedQuery, match=r"no year of born has ended, .* take each day"):
        vault.running.plan("born", rho="1/4")
    with pytest.raises(UnsupportedQuery, match="take each day"):
        vault.cubes.standing.declare(vault.cubes.plan(rho="1/4", dimensions=["sex"]), "year")


def test_what_cannot_be_published_is_told_and_goes_on_and_the_rows_are_appended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vault = make()
    vault.running.declare(vault.running.plan("month", by="sex", last="2027-06", rho="1/4"))
    with monkeypatch.context() as patched:
        patched.setattr(Gate, "_draw", lambda *_: (_ for _ in ()).throw(EngineError("no")))
        with pytest.raises(VaultError, match=r"the rows were appended, and running totals 2 could not be published"):
            vault.append("2027-01.parquet")
    assert vault.ledger.closed_period == "2027-01"
    assert len(vault.ledger.pending()) == 1
    vault.append("2027-02.parquet")  # what was cut off is of the table as it was then, and is answered
    totals = vault.running.show()
    assert totals.values.shape == (4, 2)
    assert not vault.ledger.pending()
    assert (abs(totals.values[2] - [truth("F", 3), truth("M", 3)]) < 7 * totals.plan.deviations[2]).all()
    assert not failures(audit_vault("vault"))


def test_a_refresh_and_an_erasure_end_them_and_appends_go_on() -> None:
    vault = make()
    number = vault.running.declare(vault.running.plan("month", last="2027-06", rho="1/4")).number
    vault.append("2027-01.parquet")
    pq.write_table(pa.table({"person": [3, 1004]}), "gone.parquet")
    vault.erase("gone.parquet")
    vault.append("2027-02.parquet")
    assert (len(vault.running.show(number).values), vault.running.show(number).open) == (3, False)
    with pytest.raises(BudgetExceeded, match="and so does an erasure"):
        vault.running.publish(number)
    assert not failures(audit_vault("vault"))


def test_the_command_line_says_that_an_append_published() -> None:
    vault = make()
    said = CliRunner().invoke(app, ["append", "vault", "2027-01.parquet", "--quiet"]).stdout
    assert "were published" not in said
    Vault.open("vault").running.declare(vault.running.plan("month", last="2027-06", rho="1/4"))
    said = CliRunner().invoke(app, ["append", "vault", "2027-02.parquet", "--quiet"]).stdout
    assert "Running totals and standing cubes were published to it." in said
    shown = CliRunner().invoke(app, ["running", "publish", "vault"])
    assert shown.exit_code == 0
    assert "4 of 8 periods are to come" in shown.stdout


def test_the_command_line_says_what_ends_with_an_erasure_and_a_refresh() -> None:
    vault = make()
    pq.write_table(pa.table({"person": [3]}), "gone.parquet")
    erase, refresh = ["erase", "vault", "--ids", "gone.parquet"], ["refresh", "vault", "--again"]
    for command in (erase, refresh):
        assert "standing cubes ended" not in CliRunner().invoke(app, command).stdout
        vault.running.declare(vault.running.plan("month", last="2026-12", rho="1/4"))
        assert "Running totals and standing cubes ended with that" in CliRunner().invoke(app, command).stdout


def test_a_question_about_months_to_come_says_how_far_the_table_goes() -> None:
    vault = make()
    for where in ("day >= '2027-01-01'", "day = '2027-03'", "day BETWEEN '2026-12-01' AND '2027-03-31'"):
        notes = vault.ask(f"SELECT COUNT(*) FROM register WHERE {where}", scale=10).notes
        assert any("day goes from '2026-11-01' up to '2026-12-31' as yet" in note for note in notes), notes
