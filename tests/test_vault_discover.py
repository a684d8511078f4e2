"""Values that nobody declares: found when a vault is made, paid for, and ordinary values from then on."""

import json
import sqlite3
from fractions import Fraction as F
from math import sqrt
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet.attacks.bound import advantage_bound
from discreet.attacks.stand_in import stand_in
from discreet.audit.report import audit_vault
from discreet.cli import app
from discreet.domain.read import parse_domain
from discreet.errors import DomainError, InvalidBudget, TableError, UnsupportedQuery, VaultError
from discreet.ledger.budget_choice import budget_from_json
from discreet.ledger.discovering import Discovering
from discreet.ledger.gaussian_conversion import mu_keeps
from discreet.ledger.guarantee import GDP, guarantee_from_json
from discreet.ledger.squared_budget import GaussianBudget
from discreet.release import discover as discovering
from discreet.release.discover import search_for, with_found
from discreet.release.selection import SelectionRule, biases, half_found
from discreet.vault import Vault, making
from tests.audit.insider import Journal, failures, forget_receipts

DOMAIN = """name = "people"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "the form"
[attributes.job]
kind = "category"
values = "discover"
source = "their own words"
"""
MONTHS = """[attributes.month]
kind = "date"
low = 2026-01-01
high = 2026-12-31
period = "month"
grows = true
source = "the calendar"
"""
MANY, FEW = ("baker", "cook", "smith"), ("spy", "tinker")
JOBS = [*(job for job in MANY for _ in range(400)), *FEW, "x" * 5000, "(other)", None]
PEOPLE = pa.table({"sex": [("F", "M")[place % 2] for place in range(len(JOBS))], "job": pa.array(JOBS)})
BUDGET = {"epsilon": 1, "delta": "1e-5", "neighbours": "add-remove", "discover": "20%"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    Path("people.toml").write_text(DOMAIN)
    return tmp_path


def init(**changes: object) -> Vault:
    settings = {"table": PEOPLE, "domain": "people.toml", **BUDGET, **changes}
    return Vault.init("vault", **settings)  # type: ignore[arg-type]


@pytest.mark.usefixtures("place")
class TestInit:
    def test_what_many_people_have_is_found_and_everybody_else_is_other(self) -> None:
        vault = init(epsilon=1000)
        assert vault.domain["job"].labels == (*MANY, "(other)")
        assert vault.domain.found == {"job": MANY}
        answer = vault.ask("SELECT job, COUNT(*) FROM people GROUP BY job", scale="0.1")
        assert [row.value for row in answer.rows] == [400, 400, 400, 5]

    def test_a_value_of_one_person_is_found_with_the_probability_delta_alone(self) -> None:
        search = search_for(parse_domain(DOMAIN), GaussianBudget.of(F(1), F(1, 10), "add-remove"), "20%", None)
        assert search is not None
        assert F(biases(search.rule)[1], 2**128) <= F(1, 20)
        assert biases(search.rule)[0] == 0

    def test_where_each_period_is_protected_by_itself_a_person_has_twice_as_many_values(self) -> None:
        """With one row a period: January's value goes, and February's comes in for it. Both coins tell of January."""
        Path("people.toml").write_text(DOMAIN + MONTHS)
        jobs, asked = ["baker"] * 60 + ["cook"] * 60, []
        table = {"sex": ["F", "M"] * 60, "job": jobs, "month": ["2026-01-05", "2026-02-05"] * 60, "who": range(120)}

        def searched(*given: object) -> object:
            asked.append(search_for(*given))  # type: ignore[arg-type]
            return asked[-1]

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(discovering, "search_for", searched)
            init(table=pa.table(table), id="who", max_rows=1, through="2026-02", each_period=True)
        [search] = asked
        assert search.rule.mu_squared * 2 == search.each.mu_squared
        assert search.rule.delta * 2 == search.each.delta

    def test_the_first_by_their_bytes_are_named_where_there_is_no_room_for_all(self) -> None:
        Path("people.toml").write_text(DOMAIN + "most = 2\n")
        assert init(table=PEOPLE.take(list(range(PEOPLE.num_rows))[::-1])).domain.found == {"job": MANY[:2]}

    def test_an_empty_table_has_a_vault_with_other_alone(self) -> None:
        vault = init(table=PEOPLE.slice(0, 0), epsilon=100)
        assert vault.domain["job"].labels == ("(other)",)
        assert abs(vault.ask("SELECT job, COUNT(*) FROM people GROUP BY job", scale=5).rows[0].value) < 200
        assert vault.ask("SELECT COUNT(*) FROM people WHERE sex = 'F'", scale=5).rows
        for refused in ("job = 'baker'", "job > 'a'"):
            with pytest.raises(UnsupportedQuery):
                vault.ask(f"SELECT COUNT(*) FROM people WHERE {refused}", scale=5)
        with pytest.raises(UnsupportedQuery, match="it can be counted and grouped by"):
            vault.ask("SELECT SUM(job) FROM people", scale=5)
        for answered in ("COUNT(DISTINCT job)", "COUNT(job)", "COUNT(*) FILTER (WHERE job LIKE 'b%')"):
            assert vault.ask(f"SELECT {answered} FROM people", scale=5).rows
        assert vault.cubes.publish(vault.cubes.plan(mu_squared="1/100"))["sex"].shape == (2,)

    def test_several_attributes_share_what_is_set_aside(self) -> None:
        Path("people.toml").write_text(DOMAIN.replace('["F", "M"]', '"discover"'))
        vault = init()
        assert vault.domain.found == {"sex": ("F", "M"), "job": MANY}
        prices = [Discovering.from_json(price) for price in vault.ledger.header["discovered"].values()]
        assert prices[0] == prices[1]
        assert prices[0] + prices[1] == vault.ledger.budget.discovering  # type: ignore[attr-defined]

    def test_who_opens_it_later_and_who_restores_it_have_the_values(self) -> None:
        init().backup("kept.discreet")
        assert Vault.open("vault").domain.found == {"job": MANY}
        Vault.restore("kept.discreet", "again")
        assert Vault.open("again").domain == Vault.open("vault").domain

    def test_after_a_refresh_they_are_as_they_were_and_new_ones_are_other(self) -> None:
        vault = init(epsilon=1000)
        vault.refresh(pa.table({"sex": ["F"] * 600, "job": ["cook"] * 100 + ["pilot"] * 500}))
        answer = Vault.open("vault").ask("SELECT job, COUNT(*) FROM people GROUP BY job", scale="0.1")
        assert [line[0] for line in answer.table()[1]] == [*MANY, "(other)"]
        assert [row.value for row in answer.rows] == [0, 100, 0, 500]

    def test_a_domain_that_names_what_another_vault_found_declares_it(self) -> None:
        Path("again.toml").write_text(str(init().ledger.header["domain"]))
        vault = Vault.init("other", table=PEOPLE, domain="again.toml", epsilon=1, neighbours="replace")
        assert vault.domain.found == {"job": MANY}
        assert "discovered" not in vault.ledger.header

    @pytest.mark.parametrize(
        ("changes", "error", "words"),
        [
            ({"delta": None}, UnsupportedQuery, "a budget of ε allows none"),
            ({"epsilon": None, "delta": None, "rho": 1}, UnsupportedQuery, "a budget of ρ allows none"),
            ({"epsilon": None, "delta": None, "mu": 1}, UnsupportedQuery, "a budget of μ² allows none"),
            ({"discover": None}, InvalidBudget, "the values of job are to be discovered: say which part of ε"),
            ({"discover": "100%"}, InvalidBudget, "leaves the rest"),
            ({"discover": 2}, InvalidBudget, "leaves the rest"),
            ({"discover": 0}, InvalidBudget, "a part must be above 0"),
            ({"discover": "some"}, InvalidBudget, "finite number above 0"),
            ({"discover_delta": "1e-5"}, InvalidBudget, "leaves the rest"),
            ({"discover_delta": "1e-30"}, InvalidBudget, "2\\^-64"),
            ({"discover": "1e-9"}, InvalidBudget, "a larger part"),
            ({"live": True}, UnsupportedQuery, "not in one that is read live"),
            ({"table": PEOPLE.drop_columns("job")}, DomainError, "the table has no column 'job'"),
        ],
    )
    def test_what_cannot_be_is_refused_and_leaves_nothing(
        self, changes: dict[str, object], error: type[Exception], words: str
    ) -> None:
        with pytest.raises(error, match=words):
            init(**changes)
        assert sorted(path.name for path in Path().iterdir() if path.name != "state") == ["people.toml"]

    def test_a_part_for_values_needs_values_to_find(self) -> None:
        Path("people.toml").write_text(DOMAIN.replace('"discover"', '["baker"]'))
        with pytest.raises(InvalidBudget, match="declares all its values"):
            init()

    def test_a_failure_after_the_draw_leaves_nothing_of_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> None:
            raise TableError("the disk is full")

        monkeypatch.setattr(making.Taking, "take", fail)
        with pytest.raises(TableError):
            init()
        assert not Path("vault").exists()

    def test_of_two_that_make_one_vault_the_second_is_told_so_and_draws_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = init().domain.found
        monkeypatch.setattr(discovering, "draw_selected", None)
        with pytest.raises(VaultError, match="already there"):
            init()
        assert Vault.open("vault").domain.found == found


@pytest.mark.usefixtures("place")
class TestPeopleWithSeveralRows:
    ROWS = pa.table(
        {
            "id": [f"p{person}" for person in range(900) for _ in range(4)],
            "sex": ["F"] * 3600,
            "job": [job for _ in range(900) for job in ("baker", "cook", "smith", "baker")],
        }
    )

    def test_people_are_counted_and_each_value_takes_its_share(self) -> None:
        vault = init(table=self.ROWS, id="id", max_rows=3)
        assert vault.domain.found == {"job": MANY}
        budget = GaussianBudget.of(F(1), F(1, 10**5), "replace", 3)
        search = search_for(parse_domain(DOMAIN), budget, "20%", None)
        assert search is not None
        assert search.rule.mu_squared * 6 == search.each.mu_squared
        assert search.rule.delta * 6 == search.each.delta == F(1, 2 * 10**5)

    def test_one_person_with_many_rows_makes_no_value(self) -> None:
        rows = pa.table({"id": ["p"] * 5000, "sex": ["F"] * 5000, "job": ["spy"] * 5000})
        assert init(table=rows, id="id", max_rows=3).domain.found == {"job": ()}


class TestBudget:
    WHOLE = GaussianBudget.of(F(1), F(1, 10**5), "add-remove")

    @pytest.mark.parametrize("part", ["1%", "20%", "50%", "80%", "95%", F(1, 3)])
    def test_what_is_set_aside_and_what_is_left_keep_what_was_promised(self, part: str | F) -> None:
        search = search_for(parse_domain(DOMAIN), self.WHOLE, part, None)
        assert search is not None
        own, left = search.each, search.budget
        own_epsilon, own_delta = F(1) - own.epsilon, F(1, 10**5) - own.delta
        assert mu_keeps(left.amount + own.mu_squared, own_epsilon, own_delta)
        assert not mu_keeps((left.amount + own.mu_squared) * F(1001, 1000), own_epsilon, own_delta)
        assert left.discovering == own
        assert (left.epsilon, left.delta) == (self.WHOLE.epsilon, self.WHOLE.delta)

    def test_little_goes_by_way_of_mu_and_nearly_all_by_way_of_epsilon(self) -> None:
        domain = parse_domain(DOMAIN)
        little, nearly = (search_for(domain, self.WHOLE, part, None) for part in ("20%", "95%"))
        assert little is not None
        assert nearly is not None
        assert little.rule.mu_squared > 0
        assert nearly.rule.epsilon == F(95, 100)

    def test_the_page_says_of_how_many_people_a_value_is_found(self) -> None:
        page = (Path(__file__).parents[1] / "docs/explain/discovery.md").read_text()
        table = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith(("| ε_s", "| by"))]
        (_, *parts), *ways = table
        assert len(ways) == 2
        for place, part in enumerate(parts):
            _, *own = self.WHOLE.setting_aside(F(part), F(1, 2 * 10**5))
            rules = [SelectionRule(one.epsilon, one.mu_squared, one.delta) for one in own]
            assert [half_found(rule) for rule in rules] == [int(numbers[1 + place]) for numbers in ways]

    def test_either_way_the_same_is_left(self) -> None:
        later, by_mu, by_epsilon = self.WHOLE.setting_aside(F(1, 2), F(1, 10**6))
        assert mu_keeps(later.amount, F(1, 2), F(9, 10**6))
        assert mu_keeps(later.amount + by_mu.mu_squared, F(1), F(9, 10**6))
        assert by_epsilon == Discovering(epsilon=F(1, 2), delta=F(1, 10**6))

    def test_a_budget_and_a_guarantee_are_read_as_they_were_written(self) -> None:
        search = search_for(parse_domain(DOMAIN), self.WHOLE, "20%", "10%")
        assert search is not None
        assert budget_from_json(search.budget.to_json()) == search.budget
        stated = GDP(F(1), "replace", 2, (), F(1), F(1, 10**5), search.each)
        assert guarantee_from_json(json.loads(json.dumps(stated.to_json()))) == stated
        assert "for finding values" in str(stated)

    def test_a_part_of_what_is_left_is_not_called_a_part_of_all(self) -> None:
        search = search_for(parse_domain(DOMAIN), self.WHOLE, "20%", None)
        assert search is not None
        words = search.budget.in_words(search.budget.total / 2)
        assert words == "50% of what finding values left of ε 1, δ 1e-05"
        assert "left of" not in self.WHOLE.in_words(self.WHOLE.total)
        assert search.budget.quota("0.5") < self.WHOLE.quota("0.5")
        assert search.budget.part(F(1, 100)).discovering == Discovering()


@pytest.mark.usefixtures("place")
class TestPromise:
    def test_the_vault_promises_what_it_was_made_with_and_no_release_less_than_it_spent(self) -> None:
        vault = init()
        stated = vault.ledger.guarantee
        assert isinstance(stated, GDP)
        assert (stated.epsilon, stated.delta) == (1, F(1, 10**5))
        assert stated.discovering.delta == F(1, 2 * 10**5)
        release = vault.measure(vault.count(sex="F"), scale=100)
        assert isinstance(release.guarantee, GDP)
        assert not release.guarantee.discovering
        [remark] = release.guarantee.remarks
        assert remark.startswith(f"the values that it names were found for {stated.discovering}")

    def test_whatever_names_found_values_says_that_they_were_paid_for_beside_its_own_cost(self) -> None:
        vault = init()
        answer = vault.ask("SELECT job, COUNT(*) FROM people GROUP BY job", scale=100)
        cube = vault.cubes.publish(vault.cubes.plan(mu_squared="1/100"))
        rows = vault.rows.publish()
        cube.save("cube")
        for said in (str(answer.guarantee), str(cube.guarantee), str(rows.about), str(vault.model.guarantee)):
            assert "were found for μ²" in said
        assert str(vault.ledger.guarantee).count("for finding values") == 1
        assert not failures(audit_vault("vault"))

    def test_after_a_rollback_that_was_accepted_what_was_found_counts_once_and_what_was_left_twice(self) -> None:
        vault = init()
        before = Path("vault/journal.sqlite").read_bytes()
        vault.measure(vault.count(), scale=100)
        vault.ledger.close()
        for path in Path("vault").glob("journal.sqlite*"):
            path.unlink()
        Path("vault/journal.sqlite").write_bytes(before)
        stated = Vault.open("vault", accept_rollback=True).ledger.guarantee
        assert isinstance(stated, GDP)
        own = stated.discovering
        assert stated.mu_squared == 2 * vault.ledger.budget.total
        assert stated.epsilon is not None
        assert stated.delta == F(1, 10**5)
        assert mu_keeps(stated.mu_squared + own.mu_squared, stated.epsilon, stated.delta - own.delta)
        assert not mu_keeps(stated.mu_squared + own.mu_squared, stated.epsilon - F(2, 10**4), stated.delta - own.delta)
        assert not failures(audit_vault("vault"))

    def test_facts_are_refused_with_the_reason(self) -> None:
        vault = init()
        with pytest.raises(UnsupportedQuery, match="whose values were discovered takes no facts"):
            vault.facts.add("SELECT COUNT(*) FROM people", 1205)
        assert vault.ledger.facts == ()

    def test_an_attack_is_bounded_by_all_that_was_promised(self) -> None:
        plain = GDP(F(1, 100), "add-remove")
        by_mu = GDP(F(1, 100), "add-remove", discovering=Discovering(mu_squared=F(3, 100), delta=F(1, 10)))
        assert advantage_bound(by_mu) == pytest.approx(advantage_bound(GDP(F(4, 100), "add-remove")) + 0.1)
        by_epsilon = GDP(F(1, 100), "add-remove", discovering=Discovering(epsilon=F(1, 10), delta=F(1, 100)))
        assert advantage_bound(by_epsilon) == pytest.approx(advantage_bound(plain) + 0.04996 + 0.01, abs=1e-5)

    def test_a_vault_that_stands_in_has_what_was_left(self) -> None:
        vault = init()
        with stand_in(vault, PEOPLE) as copy:
            assert copy.domain == vault.domain
            assert float(copy.ledger.budget.total) == pytest.approx(float(vault.ledger.budget.total), rel=1e-5)
            assert sqrt(copy.ledger.budget.total) <= sqrt(vault.ledger.budget.total)


@pytest.mark.usefixtures("place")
class TestAudit:
    def test_it_finds_that_all_is_right(self) -> None:
        vault = init()
        vault.ask("SELECT job, COUNT(*) FROM people GROUP BY job")
        audit = audit_vault("vault")
        assert not failures(audit)
        assert "found of job: 3 values" in next(entry["what"] for entry in vault.entries())

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda header: header.pop("discovered"), "of each attribute whose values were found"),
            (lambda header: header["discovered"].update(sex=header["discovered"]["job"]), "of each attribute"),
            (lambda header: header["discovered"]["job"].pop("delta"), "cannot be read"),
            (lambda header: header["discovered"]["job"].update(mu_squared="0"), "for a price that none"),
            (lambda header: header["discovered"]["job"].update(delta="0"), "for a price that none"),
            (lambda header: header["discovered"]["job"].update(epsilon="1/10"), "for a price that none"),
            (
                lambda header: header["discovered"]["job"].update(mu_squared="1/40"),
                "more than its budget has set",
            ),
            (lambda header: header["discovered"]["job"].update(delta="1/100000"), "more than its budget has set"),
            (lambda header: header["budget"].pop("discovering"), "more than its budget has set"),
            (lambda header: header["budget"]["discovering"].update(mu_squared="1/10"), "does not imply the ε = 1"),
            (lambda header: header["budget"]["discovering"].update(delta="1/100000"), "does not imply the ε = 1"),
            (lambda header: header["budget"]["discovering"].update(delta="-1"), "does not say what the vault promises"),
            (lambda header: header["budget"].update(mu_squared="1/10"), "does not imply the ε = 1"),
            (
                lambda header: header.update(domain=header["domain"].replace('"baker", "cook"', '"cook", "baker"')),
                "in an order that may tell",
            ),
        ],
    )
    def test_it_works_the_price_out_again(self, change, words: str) -> None:  # type: ignore[no-untyped-def]
        vault = init()
        journal = Journal()
        change(journal[1]["content"])
        journal.write()
        forget_receipts(vault)
        assert words in audit_vault("vault")["header"].findings[0].what


@pytest.mark.usefixtures("place")
class TestCommands:
    def test_init_and_check_say_what_is_found(self) -> None:
        table = "people.parquet"
        pa.parquet.write_table(PEOPLE, table)
        checked = CliRunner().invoke(app, ["domain", "check", "people.toml"]).output
        assert "1 + 1,000 at most" in " ".join(checked.split())
        line = f"init vault --table {table} --domain people.toml --epsilon 1 --delta 1e-5 --neighbours add-remove"
        made = CliRunner().invoke(app, [*line.split(), "--discover", "20%", "--discover-delta", "10%"])
        assert made.exit_code == 0
        assert "Found of job: 3 values\n" in made.output
        assert "found of job: 3 values" in " ".join(CliRunner().invoke(app, ["ledger", "show", "vault"]).output.split())
        assert "δ = 1e-06 for finding values" in " ".join(made.output.split())

    @pytest.mark.parametrize(("most", "said"), [(2, True), (3, True), (4, False)])
    def test_init_says_where_as_many_were_found_as_may_be_named(self, most: int, said: bool) -> None:
        """Also where there are just as many: whether there are more is not said."""
        pa.parquet.write_table(PEOPLE, "people.parquet")
        Path("people.toml").write_text(DOMAIN + f"most = {most}\n")
        line = "init vault --table people.parquet --domain people.toml --epsilon 1000 --delta 1e-5 --discover 20%"
        made = CliRunner().invoke(app, [*line.split(), "--neighbours", "add-remove", "--quiet"])
        full = f", as many as most = {most} allows: if there are more, they are (other)\n"
        assert f"Found of job: {min(most, 3)} values{full if said else chr(10)}" in made.output

    def test_no_file_but_the_snapshot_and_the_journal_knows_of_values(self) -> None:
        init()
        told = {path for path in Path("vault").rglob("*") if path.is_file() and b"spy" in path.read_bytes()}
        assert not told
        with sqlite3.connect("vault/journal.sqlite") as journal:
            assert journal.execute("SELECT COUNT(*) FROM entries").fetchone() == (1,)


def test_found_values_are_toml_whatever_they_hold() -> None:
    values = ['"quoted"', "back\\slash", "[found]", "ä'b"]
    found = parse_domain(with_found(DOMAIN, {"job": sorted(values, key=str.encode)}))
    assert set(found["job"].labels) == {*values, "(other)"}
