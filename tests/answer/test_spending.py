"""Who may spend, and how much: what promises to spend nothing cannot, and a question stays within the policy."""

import inspect
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import get_type_hints

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from discreet.answer.desk import Desk
from discreet.answer.policy import Policy
from discreet.errors import BudgetExceeded, DiscreetError, InvalidNoise
from discreet.exact import equals_text
from discreet.facts.facts import Fact
from discreet.ledger.asker import Asker
from discreet.ledger.books import Books
from discreet.ledger.ledger import Ledger
from discreet.ledger.spend import UNITS, Cost
from discreet.noise.law import Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Quantile, Sum, grain_of_sum
from discreet.release.gate import Gate
from discreet.release.purchase import Purchase
from discreet.vault import Vault, public
from discreet.vault.buckets import VaultBuckets
from discreet.vault.cubes import VaultCubes
from discreet.vault.facts import VaultFacts
from discreet.vault.memory import Memory
from discreet.vault.sulq import VaultSulq
from tests.answer.conftest import DOMAIN

BUDGETS = {
    "pure": {"epsilon": 10, "neighbours": "add-remove"},
    "replace": {"epsilon": 10, "neighbours": "replace"},
    "rho": {"rho": 5, "neighbours": "add-remove"},
    "approximate": {"epsilon": 10, "delta": "1e-6", "neighbours": "replace"},
}
AGGREGATES = (
    "COUNT(*)",
    "SUM(income)",
    "AVG(income)",
    "AVG(age)",
    "MEDIAN(income)",
    "COUNT(*) FILTER (WHERE sex = 'F') - COUNT(*) FILTER (WHERE sex = 'M')",
    "AVG(income) FILTER (WHERE sex = 'F')",
)
CONDITIONS = (
    "",
    "WHERE age BETWEEN 1 AND 5",
    "WHERE age BETWEEN 2 AND 5",
    "WHERE age >= 7",
    "WHERE age = 1 OR age = 5",
)
WISHES = ({}, {"scale": 3}, {"scale": 60}, {"within": 4}, {"within": 60}, {"within": "0.5"}, {"within": 1000})


def sql_of(aggregates, condition="", by=""):
    grouped = f"SELECT {by}, {aggregates}" if by else f"SELECT {aggregates}"
    return f"{grouped} FROM people {condition} {f'GROUP BY {by}' if by else ''}".strip()


QUESTIONS = [
    *(sql_of(aggregate, condition) for aggregate in AGGREGATES for condition in CONDITIONS[:2]),
    sql_of("AVG(income), COUNT(*)", "WHERE age BETWEEN 1 AND 5", "sex"),
    sql_of("COUNT(*), MEDIAN(age), SUM(age)", "", "age"),
]


def exhausted(vault):
    """The same vault with nothing left at the ages 2 to 5, where counts and sums are public: patches may be bought."""
    budget, where = vault.ledger.budget, {"age": (2, 5)}
    queries = (vault.sum("income", **where), 50), (vault.sum("age", **where), 9), (vault.count(**where), 1)
    for place, (query, largest) in enumerate(queries):
        per_row = Fraction(vault.ledger.left(query.where), UNITS * (len(queries) - place))
        grain = grain_of_sum(query.of, vault.domain) if isinstance(query, Sum) else Fraction(1)
        noise = budget.noise_costing(per_row * budget.factor, Fraction(largest), True, grain)
        vault.measure(Plan((Measurement(query, noise),)))
    assert vault.ledger.left(queries[0][0].where) == 0
    return vault


FREE: dict[str, Callable[[Vault, Path], object]] = {
    "budget": lambda vault, _: vault.budget(),
    "budget_map": lambda vault, _: vault.budget_map("age", "sex"),
    "check_receipt": lambda vault, _: vault.check_receipt(vault.ledger.head),
    "describe": lambda vault, _: vault.describe(),
    "entries": lambda vault, _: list(vault.entries()),
    "explain": lambda vault, _: [told(vault.explain, sql, wish) for sql in QUESTIONS for wish in WISHES],
    "facts.current": lambda vault, _: vault.facts.current(),
    "facts.of_all_tables": lambda vault, _: vault.facts.of_all_tables(),
    "facts.report": lambda vault, _: vault.facts.report(),
    "cubes.plan": lambda vault, _: vault.cubes.plan(**{vault.ledger.budget.option: 1}),
    "plan_text": lambda vault, _: [vault.plan_text(release.plan) for release in vault.releases()],
    "plot_budget": lambda vault, folder: vault.plot_budget("age", "sex", path=folder / "map.png"),
    "facts.preview": lambda vault, _: told(vault.facts.preview, sql_of("COUNT(*)"), {"value": 6_000}),
    "release": lambda vault, _: [vault.release(charge.id) for charge, _ in vault.ledger.answered()],
    "releases": lambda vault, _: list(vault.releases()),
    # These make a noun.
    "asked_by": lambda vault, _: [
        told(vault.asked_by(Asker("ana", Fraction(1))).explain, sql, {}) for sql in QUESTIONS
    ],
    "count": lambda vault, _: vault.count(age=(2, 5)),
    "sum": lambda vault, _: vault.sum("age", sex="F"),
}
"""Every verb that promises to spend nothing, at work."""


def told(verb, sql, wish):
    """The outcome of a question, a refusal included."""
    try:
        return verb(sql, **wish)
    except DiscreetError as error:
        return error


def verbs():
    """Every verb of a vault and of the things of it, by the name that users call it by."""
    owners = {"": Vault, "cubes.": VaultCubes, "facts.": VaultFacts, "buckets.": VaultBuckets, "sulq.": VaultSulq}
    for thing, owner in owners.items():
        for name in dir(owner):
            if not name.startswith("_") and inspect.isfunction(getattr(owner, name)):
                yield f"{thing}{name}", getattr(owner, name)


def annotated_as_public():
    """The verbs of a vault that take themselves as its public parts alone."""
    return {name for name, verb in verbs() if _self_of(verb) in vars(public).values()}


def _self_of(verb):
    return inspect.get_annotations(verb).get("self")


def test_every_verb_that_says_it_is_free_is_typed_so_and_is_tried_below():
    words = re.compile(r"[Ss]pends nothing|Public, and free|Reads and spends nothing|, and free")
    saying = {name for name, verb in verbs() if words.search(verb.__doc__ or "")}
    own = {"buckets.publish", "sulq.plan"}  # of its currency; of a SuLQ database, tried with it
    assert saying - own <= annotated_as_public()
    assert annotated_as_public() <= FREE.keys()


def test_what_looks_has_nothing_to_spend_with():
    notes = {"note", "note_after", "note_fact", "note_refresh", "note_append", "note_erasure", "accept_lost"}
    spending = {"charge", "reserve", "draw", "record", "close_charge"}
    writing = {*spending, *notes, "create", "open", "at", "close", "after_fork"}
    assert {name for name in dir(Ledger) if not name.startswith("_")} - {*dir(Books)} == writing
    for kept in (Desk, Memory):
        kinds = get_type_hints(kept, localns={"Fact": Fact}).items()
        assert not [name for name, kind in kinds if kind in (Ledger, Gate, Purchase, Vault)]
    for protocol in (public.Public, public.PublicCubes, public.PublicFacts, public.PublicDesk):
        assert not {"gate", "_own", "measure", "ask", "complete"} & {*dir(protocol), *get_type_hints(protocol)}


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("state", [lambda vault: vault, exhausted], ids=["fresh", "exhausted"])
@pytest.mark.parametrize(
    "policy", [Policy(), Policy(default_within=Fraction(3), min_scale=Fraction(2))], ids=["", "policy"]
)
def test_what_promises_to_spend_nothing_leaves_the_journal_as_it_is(make_vault, tmp_path, budget, state, policy):
    vault = replace(state(make_vault(**BUDGETS[budget])), policy=policy)
    head = vault.ledger.head
    for name, verb in FREE.items():
        verb(vault, tmp_path)
        assert vault.ledger.head == head, name


@pytest.mark.parametrize("budget", BUDGETS)
def test_explaining_buys_no_patch_where_asking_does(make_vault, budget):
    vault = limited(exhausted(make_vault(**BUDGETS[budget])))
    sql, before = sql_of("COUNT(*)", "WHERE age BETWEEN 1 AND 5"), vault.ledger.charges
    vault.explain(sql, within=20)
    assert vault.ledger.charges == before
    assert vault.ask(sql, within=20).kind == "relaxed"
    assert vault.ledger.charges > before  # else this test would say nothing


def bought(vault, since):
    """The plans and costs of all charges after an entry."""
    charges = [entry for entry in vault.ledger.entries(since.seq) if entry.kind == "charge"]
    return [(Plan.from_json(one.parsed()["content"]), Cost.from_json(one.parsed()["cost"])) for one in charges]


def peak(vault, costs):
    """The most that was spent at any point, by a look at every point."""
    points = product(*map(range, vault.domain.shape))
    return vault.ledger.budget.amount_of(max(sum(cost.at(point) for cost in costs) for point in points))


def asked_within_policy(vault, sql, wish):
    """Ask, and hold what it did against the policy and against what it says."""
    head, policy = vault.ledger.head, vault.policy
    outcome = told(vault.ask, sql, wish)
    charged = bought(vault, head)
    spent = peak(vault, [cost for _, cost in charged])
    assert policy.max_per_query is None or spent <= policy.max_per_query
    for measurement in (one for plan, _ in charged for one in plan.measurements):
        query = measurement.query
        largest = {"income": 50, "age": 9}[query.of] if isinstance(query, Sum) else 1
        assert policy.min_scale is None or measurement.law.scale_squared >= (policy.min_scale * largest) ** 2
    if isinstance(outcome, DiscreetError):
        assert ("this question spent" in str(outcome)) == bool(charged)
        assert not charged or f"spent {vault.ledger.budget.symbol} {equals_text(spent)} (" in str(outcome)
    else:
        assert outcome.cost == spent
    return outcome


@st.composite
def policies(draw):
    return {
        "default_within": draw(st.sampled_from([None, None, 2, 40])),
        "min_scale": draw(st.sampled_from([None, 1, 4, 30, 100])),
        "share": draw(st.sampled_from([None, Fraction(1, 1000), Fraction(1, 150), Fraction(1, 60), Fraction(1, 5)])),
        "patches": draw(st.booleans()),
    }


@st.composite
def questions(draw):
    aggregates = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True))
    columns = ", ".join(f"{aggregate} AS c{i}" for i, aggregate in enumerate(aggregates))
    by = draw(st.sampled_from(["", "", "sex", "age"]))
    return sql_of(columns, draw(st.sampled_from(CONDITIONS)), by), draw(st.sampled_from(WISHES))


@settings(max_examples=12, phases=[Phase.generate])  # each example makes a vault: a failing one is shown as it is
@pytest.mark.parametrize("budget", BUDGETS)
@given(policy=policies(), start=st.booleans(), asked=st.lists(questions(), min_size=4, max_size=10))
def test_no_question_spends_more_than_the_policy_lets_one_nor_measures_with_less_noise(
    people, budget, policy, start, asked
):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "people.toml").write_text(DOMAIN)
        made = Vault.init(Path(folder) / "vault", table=people, domain=Path(folder) / "people.toml", **BUDGETS[budget])
        vault = exhausted(made) if start else made
        share, patches = policy.pop("share"), policy.pop("patches")
        given_ = {key: None if value is None else Fraction(value) for key, value in policy.items()}
        most = None if share is None else share * vault.ledger.budget.total
        vault = replace(vault, policy=Policy(**given_, max_per_query=most, patches=patches))
        for sql, wish in asked:
            head = vault.ledger.head
            explained = told(vault.explain, sql, wish)
            assert vault.ledger.head == head
            outcome = asked_within_policy(vault, sql, wish)
            held_to(explained, outcome, vault, head)
            asked_again(vault, sql, wish, outcome)
        vault.ledger.close()


def asked_again(vault, sql, wish, outcome):
    """What was answered as it was asked is free from then on, whatever it is made of; averages within a bound are
    solved for by how many rows there are, of which more is known the second time."""
    solved = "AVG" in sql and (wish.get("within") or vault.policy.default_within)
    if isinstance(outcome, DiscreetError) or solved or any(row.kind == "relaxed" for row in outcome.rows):
        return
    if not any("would cost more than is left" in note for note in outcome.notes):
        assert vault.ask(sql, **wish).cost == 0


def held_to(explained, outcome, vault, since):
    """Hold an answer to what was said before: what is spent is that, or at most that, and else it is refused."""
    spent = peak(vault, [cost for _, cost in bought(vault, since)])
    if isinstance(explained, DiscreetError):
        assert isinstance(outcome, type(explained))
        assert spent == 0
    elif isinstance(outcome, DiscreetError):
        assert spent == 0
    else:
        assert outcome.cost == explained.cost if explained.is_exact else outcome.cost <= explained.cost
        free = not any("measured" in forecast.kinds or "relaxed" in forecast.kinds for forecast in explained.forecasts)
        assert not free or outcome.cost == 0


def test_an_average_in_steps_spends_at_most_what_was_said_and_then_its_price_is_known(make_vault):
    vault, sql = make_vault(epsilon=10), sql_of("AVG(income)", "WHERE age = 3")
    first = vault.explain(sql, within="0.5")
    assert (first.is_exact, first.cost) == (False, 1)
    answer = vault.ask(sql, within="0.5")
    assert Fraction(9, 10) < answer.cost <= 1
    low, high = answer.interval()
    assert low < answer.value < high
    assert any("AVG(income) within 0.5 would cost more than is left there, or than the ε 1" in n for n in answer.notes)
    second = vault.explain(sql, within="0.5")
    assert second.is_exact
    assert vault.ask(sql, within="0.5").cost == second.cost


STEPS = (
    ("SELECT AVG(income) AS x FROM people WHERE age = 3", {"within": "0.5"}),
    ("SELECT age, AVG(income) AS x, AVG(age) AS y FROM people GROUP BY age", {"within": "0.3"}),
    ("SELECT sex, AVG(income) AS x, COUNT(*) AS n FROM people GROUP BY sex", {"within": 1}),
    ("SELECT AVG(income) / AVG(age) AS x FROM people WHERE sex = 'F'", {"within": "0.2"}),
    ("SELECT SUM(x) FROM (SELECT age, AVG(income) AS x FROM people GROUP BY age) AS t", {"within": "0.3"}),
    ("SELECT COUNT(*) AS x FROM people WHERE age > (SELECT AVG(age) FROM people)", {"within": "0.4"}),
    ("SELECT COUNT(*) AS x FROM people WHERE income > (SELECT AVG(income) FROM people WHERE sex = 'F')", {}),
    ("SELECT COUNT(*) AS x FROM people WHERE age IN (SELECT age FROM people GROUP BY age HAVING COUNT(*) > 9)", {}),
    (
        "SELECT AVG(income) AS x FROM people WHERE age IN (SELECT age FROM people GROUP BY age ORDER BY COUNT(*) DESC "
        "LIMIT 1)",
        {"within": "0.4"},
    ),
)
"""Questions in steps."""


def little_left(vault):
    """The same vault with less left than two counts usually cost."""
    budget, everyone = vault.ledger.budget, vault.count()
    spent = Fraction(vault.ledger.left(everyone.where), UNITS) * Fraction(985, 1000)
    vault.measure(Plan((Measurement(everyone, budget.noise_costing(spent * budget.factor)),)))
    return vault


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("state", [lambda vault: vault, exhausted, little_left], ids=["fresh", "exhausted", "little"])
def test_no_question_in_steps_is_refused_after_it_has_spent(people, tmp_path, budget, state):
    (tmp_path / "people.toml").write_text(DOMAIN)
    for place, (sql, wish) in enumerate(STEPS):
        share = None if (place + [*BUDGETS].index(budget)) % 2 else Fraction(1, 70)
        home = {"table": people, "domain": tmp_path / "people.toml"}
        vault = state(Vault.init(tmp_path / str(place), **home, **BUDGETS[budget]))
        most = None if share is None else share * vault.ledger.budget.total
        vault, head = replace(vault, policy=Policy(max_per_query=most)), vault.ledger.head
        explained, outcome = told(vault.explain, sql, wish), told(vault.ask, sql, wish)
        spent = peak(vault, [cost for _, cost in bought(vault, head)])
        assert spent == 0 or not isinstance(outcome, DiscreetError), (sql, share, outcome)
        if isinstance(explained, DiscreetError):
            assert spent == 0, (sql, share, explained)
        else:
            assert spent <= explained.cost
        vault.ledger.close()


def test_where_noise_leads_to_a_region_without_budget_the_answer_says_what_it_bought(make_vault):
    vault = make_vault(epsilon=10)
    spent = Fraction(vault.ledger.left(vault.count(age=(6, 9)).where), UNITS)
    vault.measure(Plan((Measurement(vault.count(age=(6, 9)), Laplace(1 / spent)),)))
    inner = "SELECT 5 + ROUND(AVG(age)) FROM people WHERE age BETWEEN 0 AND 4"
    answer = vault.ask(f"SELECT COUNT(*) AS n FROM people WHERE age = ({inner})", scale=20)
    assert answer.cost > 0
    assert answer.value is None
    assert any(re.search(r"came out as 7$", note) for note in answer.notes)


def test_patches_are_not_bought_unless_the_policy_wants_them(make_vault):
    vault = exhausted(make_vault(epsilon=10))
    before = vault.ledger.charges
    assert (vault.ask(RELAXED, scale=1).cost, vault.ledger.charges) == (0, before)
    said = limited(vault).explain(RELAXED, scale=1)
    assert said.cost == 1
    assert any("other regions: age = 1" in note for note in said.notes)


def test_patches_that_would_leave_a_number_too_noisy_are_not_bought(make_vault):
    vault = make_vault(epsilon=10)
    where = vault.count(age=(2, 5)).where
    vault.measure(vault.count(age=(2, 5)), scale=100)
    vault.measure(Quantile("age", Fraction(1, 2), where), scale=Fraction(UNITS, vault.ledger.left(where)))
    answer = limited(vault).ask(RELAXED, scale=1)
    assert (answer.kind, answer.answered, answer.cost) == ("relaxed", "age BETWEEN 2 AND 5", 0)


def limited(vault, **limits):
    return replace(vault, policy=Policy(**{name: Fraction(limit) for name, limit in limits.items()}, patches=True))


RELAXED = sql_of("COUNT(*)", "WHERE age BETWEEN 1 AND 5")


def test_a_patch_beyond_the_policy_is_not_affordable(make_vault, monkeypatch):
    vault = exhausted(make_vault(epsilon=10))
    with monkeypatch.context() as closed:
        closed.setattr(Purchase, "measure", lambda *_: pytest.fail("it was planned"))
        near = asked_within_policy(limited(vault, max_per_query="0.1"), RELAXED, {"scale": 1})
    assert (near.kind, near.answered, near.cost) == ("relaxed", "age BETWEEN 2 AND 5", 0)
    patched = asked_within_policy(limited(vault, max_per_query=1), RELAXED, {"scale": 1})
    assert (patched.kind, patched.answered, patched.cost) == ("relaxed", "age BETWEEN 1 AND 5", 1)


@pytest.mark.parametrize(("most", "patches"), [("0.9", 0), ("1.9", 1), (2, 2)])
def test_patches_count_together(make_vault, most, patches):
    vault = limited(exhausted(make_vault(epsilon=10)), max_per_query=most)
    head = vault.ledger.head
    answer = asked_within_policy(vault, sql_of("COUNT(*), SUM(income)", "WHERE age BETWEEN 1 AND 5"), {"scale": 1})
    paid = [cost for _, cost in bought(vault, head) if cost.peak]  # a sum over missing incomes costs nobody anything
    assert (answer.kind, answer.cost, len(paid)) == ("relaxed", patches, min(patches, 1))  # all in one charge


def test_a_first_count_is_never_bought_for_nothing(make_vault):
    vault = limited(make_vault(epsilon=10), min_scale=50)
    answer = asked_within_policy(vault, sql_of("AVG(income)"), {"within": "0.5"})
    assert answer.kind in ("measured", "mixed")
    assert any("noise of scale 50 at least: AVG(income) may be wider than ± 0.5" in note for note in answer.notes)
    again = asked_within_policy(vault, sql_of("AVG(income)"), {"within": "0.5"})
    assert str(again).startswith("this vault adds noise of scale 50 at least; ask for less accuracy; what is left")
    assert asked_within_policy(vault, sql_of("AVG(income)"), {"within": 20}).kind == "repeated"


def test_a_first_count_leaves_half_of_what_a_question_may_spend(make_vault):
    vault = limited(make_vault(epsilon=10), max_per_query="0.05")
    answer = asked_within_policy(vault, sql_of("AVG(income)"), {"within": 10})
    assert answer.kind == "measured"
    first, _ = vault.releases()
    assert first.plan.measurements[0].law == Laplace(Fraction(40))


def test_without_limits_a_first_count_is_what_it_was(make_vault):
    vault = make_vault(epsilon=10)
    vault.ask(sql_of("AVG(income)"), within=10)
    first, _ = vault.releases()
    assert first.plan.measurements[0].law == Laplace(Fraction(10))


@pytest.mark.parametrize(
    ("beside", "within", "limits", "words"),
    [
        ("COUNT(*)", "0.5", {}, "answers come in steps of 1"),
        ("SUM(age)", "0.5", {}, "answers come in steps of 1"),
        ("COUNT(*)", 5, {"min_scale": 30}, "noise of scale 30 at least"),
        ("SUM(age)", 5, {"min_scale": 1}, "noise of scale 1 at least"),
    ],
)
def test_what_cannot_be_answered_beside_an_average_is_refused_before_its_first_count(
    vault, beside, within, limits, words
):
    refused = asked_within_policy(limited(vault, **limits), sql_of(f"AVG(income), {beside} AS n"), {"within": within})
    assert words in str(refused)
    assert vault.ledger.charges == 0


def test_with_nothing_said_the_noise_is_what_the_policy_allows(make_vault):
    vault = limited(make_vault(epsilon=10), min_scale=50)
    assert asked_within_policy(vault, sql_of("COUNT(*)"), {}).cost == Fraction(1, 50)


def test_what_asking_is_refused_for_explaining_is_refused_for(make_vault):
    vault = limited(make_vault(epsilon=10), min_scale=5, max_per_query="0.15")
    for wish, error in [({"scale": 4}, InvalidNoise), ({"scale": 6}, BudgetExceeded)]:
        refusals = [told(verb, sql_of("COUNT(*)"), wish) for verb in (vault.explain, vault.ask)]
        assert [type(refusal) for refusal in refusals] == [error, error]
        assert str(refusals[0]) == str(refusals[1])
    assert vault.ledger.charges == 0


def test_measuring_is_the_custodians_own_and_bound_by_the_budget_alone(make_vault):
    vault = limited(make_vault(epsilon=10), min_scale=50, max_per_query="0.01")
    assert vault.measure(vault.count(), 2).guarantee.amount == Fraction(1, 2)
    vault.cubes.publish(vault.cubes.plan(epsilon=1, cuboids=1))
    assert vault.budget().spent == Fraction(3, 2)
