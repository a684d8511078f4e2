"""Lines that are chosen by their noise, lines that may be 0, and shrunken counts."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.answer.chosen import at_once
from discreet.answer.estimate import Estimate
from discreet.answer.shrink import LEAST_LINES, shrink
from discreet.cli import app
from discreet.noise.bits import Bits
from discreet.noise.law import Gaussian, Laplace
from discreet.noise.spread import Draws
from discreet.vault import Vault

SURE = Fraction(19, 20)
DOMAIN = """
name = "patients"
[attributes.diagnosis]
kind = "integer"
source = "a test"
low = 0
high = 199
[attributes.ward]
kind = "integer"
source = "a test"
low = 0
high = 4
[attributes.sex]
kind = "category"
source = "a test"
values = ["F", "M"]
"""
GROUPS = "SELECT diagnosis, ward, COUNT(*) AS n FROM patients GROUP BY diagnosis, ward"


@pytest.fixture
def vault(tmp_path):
    """1,000 groups, nearly all of them empty."""
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"diagnosis": np.repeat([7, 90, 91], [900, 60, 5])})
    people["ward"] = np.where(people["diagnosis"] == 7, 2, rng.integers(0, 5, len(people)))
    people["sex"] = rng.choice(["F", "M"], len(people))
    (tmp_path / "patients.toml").write_text(DOMAIN)
    where = {"table": people, "domain": tmp_path / "patients.toml"}
    return Vault.init(tmp_path / "vault", **where, epsilon=10, neighbours="add-remove")


def width(row):
    return (row.high - row.low) / 2


def test_lines_that_are_chosen_by_their_noise_have_intervals_for_all_lines_at_once(vault):
    answer = vault.ask(f"{GROUPS} ORDER BY n DESC LIMIT 5", scale=20)
    every = at_once(SURE, 1000)
    assert {width(row) for row in answer.rows} == {Laplace(Fraction(20)).halfwidth(every)}
    assert any("1,000 at once" in note for note in answer.notes)
    first, *ghosts = answer.rows
    assert first.labels == ("7", "2")
    assert not first.may_be_zero
    assert all(row.may_be_zero == (row.low <= 0) for row in ghosts)
    doubtful = sum(row.may_be_zero for row in ghosts)
    assert doubtful > 0  # all four would have to lie beyond bounds that one of 1,000 lines passes in 1 of 20 draws
    assert any(f"{doubtful} of 5 lines cannot be told from 0" in note for note in answer.notes)
    assert "may be 0" in str(answer)


@pytest.mark.parametrize(
    "order",
    ["", "ORDER BY diagnosis LIMIT 5", "LIMIT 7", "ORDER BY n DESC", "ORDER BY n DESC LIMIT 1000"],
)
def test_lines_that_noise_did_not_choose_have_intervals_of_their_own(vault, order):
    answer = vault.ask(f"{GROUPS} {order}", scale=20)
    assert {width(row) for row in answer.rows} == {Laplace(Fraction(20)).halfwidth(SURE)}


def test_an_offset_chooses_too_and_so_does_the_other_end(vault):
    for order in ("ORDER BY n LIMIT 3", "ORDER BY n DESC LIMIT 3 OFFSET 2", "ORDER BY sex, n LIMIT 9"):
        group = GROUPS.replace("diagnosis, ward", "diagnosis, sex")
        answer = vault.ask(f"{group} {order}", scale=20)
        assert min(width(row) for row in answer.rows) == Laplace(Fraction(20)).halfwidth(at_once(SURE, 400))


def test_columns_with_noise_of_their_own_are_not_chosen_by_it(vault):
    women = "COUNT(*) FILTER (WHERE sex = 'F') AS women"
    answer = vault.ask(GROUPS.replace("COUNT(*) AS n", f"COUNT(*) AS n, {women}") + " ORDER BY n LIMIT 2", scale=20)
    widths = {row.column: width(row) for row in answer.rows}
    assert widths["n"] > widths["women"] == Laplace(Fraction(20)).halfwidth(SURE)
    [said] = [note for note in answer.notes if "chosen by noise" in note]
    assert "the intervals of n hold for all" in said


def test_chosen_lines_are_as_sharp_as_was_asked_for(vault):
    answer = vault.ask(f"{GROUPS} ORDER BY n DESC LIMIT 2", within=60)
    assert not any("no budget" in note for note in answer.notes)
    assert not any(row.is_wider_than(Fraction(60)) for row in answer.rows)
    assert 55 < width(answer.rows[0]) <= 60


@pytest.mark.parametrize("noise", [Laplace(Fraction(3, 10)), Laplace(Fraction(20)), Gaussian(Fraction(100))])
def test_all_chosen_intervals_hold_at_once_as_often_as_they_say(noise):
    bits, runs, lines = Bits(), 2_000, 300
    true = np.where(np.arange(lines) < 15, 50, 0)
    half = noise.halfwidth(at_once(SURE, lines))
    drawn = noise.sample(runs * lines, bits).reshape(runs, lines)
    top = np.argsort(-(true + drawn), axis=1)[:, :5]
    held = (np.abs(np.take_along_axis(drawn, top, axis=1)) <= half).all(axis=1)
    assert held.mean() >= 0.935


def zipf(lines, rng):
    return np.where(rng.random(lines) < 0.05, np.minimum(rng.zipf(1.5, lines), 20_000), 0)


@pytest.mark.parametrize("noise", [Laplace(Fraction(1)), Laplace(Fraction(100)), Gaussian(Fraction(10_000))])
def test_shrunken_counts_are_nearer_to_the_truth(noise):
    lines = 2_000
    true = zipf(lines, np.random.default_rng(8))
    seen = true + noise.sample(lines, Bits())
    shrunken = np.array(shrink(seen.tolist(), [(Draws(1.0, noise),)] * lines))
    assert ((shrunken - true) ** 2).mean() <= 0.3 * ((seen - true) ** 2).mean()
    assert shrunken.min() >= 0


def test_shrinking_bears_lines_of_different_noise_and_leaves_exact_ones():
    true = zipf(600, np.random.default_rng(9))
    laws = [Laplace(Fraction(5)), Laplace(Fraction(50))]
    seen = [true[at] + int(laws[at % 2].sample(1, Bits())[0]) for at in range(600)] + [17]
    spreads = [(Draws(1.0, laws[at % 2]),) for at in range(600)] + [()]
    shrunken = shrink(seen, spreads)
    assert shrunken[-1] == 17
    assert np.mean((np.array(shrunken[:-1]) - true) ** 2) <= 0.3 * np.mean((np.array(seen[:-1]) - true) ** 2)


def test_few_lines_are_not_shrunk_and_large_counts_stay():
    noise = Laplace(Fraction(1))
    assert shrink([5.0] * (LEAST_LINES - 1), [(Draws(1.0, noise),)] * (LEAST_LINES - 1)) is None
    assert shrink([10_000.0 + at for at in range(40)], [(Draws(1.0, noise),)] * 40)[3] == 10_003


def test_both_estimates_say_what_they_are_everywhere(vault, tmp_path):
    answer = vault.ask(GROUPS, scale=20)
    assert answer.shrunken == {"n"}
    assert "n_shrunken" not in answer.to_csv()
    assert "n_shrunken" in answer.to_csv(shrunken=True)
    assert any("raw numbers are unbiased" in note for note in answer.notes)
    file = tmp_path / "n.csv"
    shown = CliRunner().invoke(app, ["ask", str(vault.path), f"{GROUPS} LIMIT 3", "--scale", "20"]).output
    assert "n shrunken" not in shown
    asked = ["ask", str(vault.path), f"{GROUPS} LIMIT 3", "--scale", "20", "--shrunken", "--out", str(file)]
    assert "n shrunken" in CliRunner().invoke(app, asked).output
    assert file.read_text().startswith("diagnosis,ward,n,n_low,n_high,n_shrunken")
    body = json.loads(CliRunner().invoke(app, [*asked, "--json"]).output)
    assert [row["shrunken"] for row in body["rows"]] == [row.shrunken for row in answer.rows[:3]]
    assert all(row.get("may_be_zero", False) == (row["low"] <= 0) for row in body["rows"])
    chosen = vault.ask(f"{GROUPS} ORDER BY n DESC LIMIT 2", scale=20).to_json()["rows"]
    assert all(row["chosen"] for row in chosen)


def test_few_groups_have_no_shrunken_counts(vault):
    answer = vault.ask("SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward", scale=20)
    assert not answer.shrunken
    assert "shrunken" not in answer.to_json()["rows"][0]


EQUAL = """
name = "people"
[attributes.g]
kind = "integer"
source = "a test"
low = 0
high = 59
[attributes.a]
kind = "integer"
source = "a test"
low = 0
high = 9
"""
TOP = "SELECT g FROM people GROUP BY g ORDER BY COUNT(*) DESC LIMIT 1"
LARGE = "SELECT g FROM people GROUP BY g HAVING COUNT(*) > 20"


def of_equal_groups(tmp_path, name="vault"):
    """A vault over 60 groups of 20 people: which is the largest, noise decides."""
    (tmp_path / "people.toml").write_text(EQUAL)
    people = pd.DataFrame({"g": np.arange(1200) % 60, "a": np.arange(1200) % 10})
    where = {"table": people, "domain": tmp_path / "people.toml"}
    return Vault.init(tmp_path / name, **where, epsilon=100, neighbours="add-remove")


def test_the_interval_of_a_region_that_noise_chose_holds_and_that_of_the_number_by_itself_would_not(tmp_path):
    own, failed, failed_by_itself = Laplace(Fraction(40)).halfwidth(SURE), 0, 0
    for run in range(25):
        vault = of_equal_groups(tmp_path, str(run))
        [row] = vault.ask(f"SELECT COUNT(*) AS n FROM people WHERE g IN ({TOP})", scale=40).rows
        failed += not row.low <= 20 <= row.high
        failed_by_itself += abs(row.value - 20) > own
        vault.ledger.close()
    # Of 60 draws the largest passes its own width in 78 of 100 cases, and that of 61 at once in 2.5.
    assert failed <= 3
    assert failed_by_itself >= 10


@pytest.mark.parametrize(
    ("sql", "regions"),
    [
        (f"SELECT COUNT(*) AS n FROM people WHERE g IN ({TOP})", 61),
        (f"SELECT COUNT(*) AS n FROM people WHERE g = ({TOP})", 121),
        (f"SELECT COUNT(*) + 1 AS n FROM people WHERE g IN ({TOP})", 61),
        (f"SELECT COUNT(*) AS n FROM people WHERE g IN ({LARGE})", 2**60),
        (f"SELECT COUNT(*) AS n FROM people WHERE NOT g IN ({LARGE})", 2**60),
        (f"SELECT AVG(a) AS n FROM people WHERE g IN ({TOP.replace('COUNT(*)', 'AVG(a)')})", 61),
        (f"SELECT COUNT(*) AS n FROM people WHERE g IN (SELECT g FROM people WHERE g IN ({LARGE}) GROUP BY g "
         "ORDER BY COUNT(*) DESC LIMIT 1)", 61),
        ("SELECT COUNT(*) AS n FROM people WHERE a > (SELECT AVG(a) FROM people)", None),
        ("SELECT COUNT(*) AS n FROM people WHERE g = (SELECT MAX(g) FROM people)", None),
    ],
)  # fmt: skip
def test_a_number_that_shares_noise_with_what_chose_its_region_says_so_and_is_wider(tmp_path, sql, regions):
    vault = of_equal_groups(tmp_path)
    vault.ask("SELECT g, COUNT(*) FROM people GROUP BY g", scale=40)
    answer = vault.ask(sql, scale=2000)
    [note] = [note for note in answer.notes if "region was chosen" in note] or [None]
    if regions is None:  # what chose it has other noise
        assert note is None
        assert width(answer.only) == answer.only.source.halfwidth(SURE)
        return
    assert note.endswith(f", {f'{regions:,}' if regions < 10**6 else '10^18'} at most")
    if isinstance(answer.only.source, Estimate):
        at_least = answer.only.source.halfwidth(at_once(SURE, regions))
        assert width(answer.only) == pytest.approx(at_least, rel=1e-9)


def test_of_too_many_regions_there_is_no_interval_and_that_is_said(tmp_path):
    (tmp_path / "people.toml").write_text(EQUAL.replace("high = 59", "high = 1999"))
    people = pd.DataFrame({"g": np.arange(2000), "a": np.arange(2000) % 10})
    where = {"table": people, "domain": tmp_path / "people.toml"}
    vault = Vault.init(tmp_path / "vault", **where, epsilon=100, neighbours="add-remove")
    vault.ask("SELECT g, COUNT(*) FROM people GROUP BY g", scale=40)
    answer = vault.ask("SELECT COUNT(*) AS n FROM people WHERE g IN (SELECT g FROM people GROUP BY g "
                       "HAVING COUNT(*) > 1)", scale=2000)  # fmt: skip
    assert answer.value is not None
    assert answer.interval() == (None, None)
    assert any("too many for intervals" in note for note in answer.notes)


def test_averages_and_quantiles_of_groups_that_may_be_empty_say_so(vault):
    vault.ask(GROUPS, scale=20)
    for sql, of in (
        ("SELECT diagnosis, ward, AVG(ward) AS x FROM patients GROUP BY diagnosis, ward", "x"),
        ("SELECT ward, MAX(diagnosis) AS x FROM patients WHERE diagnosis > 100 GROUP BY ward", "x"),
        ("SELECT diagnosis, AVG(ward) + 1 AS x FROM patients GROUP BY diagnosis", "AVG(ward)"),
    ):
        answer = vault.ask(sql, scale=20)
        [note] = [note for note in answer.notes if "may be of no rows at all" in note]
        assert note.startswith(f"{of}: ")
    alone = vault.ask("SELECT AVG(ward) AS x FROM patients WHERE diagnosis = 3", scale=20)
    assert "x: it may be of no rows at all, by released counts" in alone.notes
    full = vault.ask("SELECT AVG(ward) AS x FROM patients WHERE diagnosis = 7", scale=5)
    assert not any("no rows at all" in note for note in full.notes)
