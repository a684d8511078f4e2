"""Taking a snapshot: which rows are in the population, and that a person's are decided by that person's rows alone."""

import hashlib
import uuid
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.domain import Domain
from discreet.domain.read import parse_domain
from discreet.errors import DomainError, TableError
from discreet.query.query import Count, Sum
from discreet.table import frame as frame_module
from discreet.table import take as take_module
from discreet.table.layout import PEOPLE, PERSON, PLACE
from discreet.table.open import open_source
from discreet.table.roster import key_of, read_roster
from discreet.table.take import take_snapshot
from discreet.table.unit import Unit, _mixed, kept_rows, unit_of
from tests.populations import KEY, bag, points, population, snapshot_in

DOMAIN = parse_domain("""
name = "visits"
[attributes.ward]
kind = "integer"
low = 0
high = 199
source = "a test"
[attributes.cost]
kind = "bins"
edges = [0, 10, 100]
grain = 1
source = "a test"
""")
BY_WARD = Count(DOMAIN.everything, ("ward",))
K = 5
PERSON_UNIT = Unit("person", K)


def visits(people, seed=0):
    """Rows of people with so many visits each: of person p, visits to the wards from 10·p on, each at a cost."""
    rows = [(f"p{p}", (10 * p + i) % 200, float((7 * i + p) % 100)) for p, n in people.items() for i in range(n)]
    order = np.random.default_rng(seed).permutation(len(rows))
    return as_table([rows[i] for i in order])


def as_table(rows):
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    kinds = {"person": pa.string(), "ward": pa.int64(), "cost": pa.float64()}
    return pa.table({name: pa.array(c, kind) for (name, kind), c in zip(kinds.items(), columns, strict=True)})


def kept(table, unit=PERSON_UNIT, key=KEY):
    """The population as a bag of codes and amounts."""
    rows = population(table, DOMAIN, unit, key).rows
    return Counter(
        zip(*(c.tolist() for c in (rows.codes("ward"), rows.codes("cost"), rows.units("cost"))), strict=True)
    )


def test_people_with_1_k_and_100_rows_keep_1_k_and_k():
    # Wards tell whose row it is: 0-9 person 0, 10-19 person 1; person 2 has 100 rows in wards 20-119.
    snapshot = population(visits({0: 1, 1: K, 2: 100}), DOMAIN, PERSON_UNIT)
    [by_ward, total] = snapshot.evaluate([BY_WARD, Count(DOMAIN.everything)])
    assert [by_ward[:10].sum(), by_ward[10:20].sum(), by_ward[20:].sum(), total] == [1, K, K, 1 + K + K]
    assert by_ward[0] == 1
    assert (by_ward[10 : 10 + K] == 1).all()


# --- a person's rows are chosen by that person's rows, as a bag, and by nothing else ---

ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", "", "ü"]), st.sampled_from([0, 1, 2, 199, 200, -1, None]), st.integers(0, 99)
    ),
    max_size=40,
).map(lambda rows: [(person, ward, float(cost)) for person, ward, cost in rows])


@settings(max_examples=60)
@given(rows=ROWS, most=st.integers(1, 4), data=st.data())
def test_neither_the_order_of_rows_nor_anybody_else_matters(rows, most, data):
    unit = Unit("person", most)
    together = kept(as_table(data.draw(st.permutations(rows))), unit)
    alone = (kept(as_table([row for row in rows if row[0] == person]), unit) for person in "abcü")
    empty = kept(as_table([row for row in rows if not row[0]]), unit)
    assert together == sum(alone, empty)


@settings(max_examples=60)
@given(rows=ROWS, most=st.integers(1, 4))
def test_of_each_person_as_many_rows_are_kept_as_there_are_up_to_the_most(rows, most):
    snapshot = population(as_table(rows), DOMAIN, Unit("person", most))
    whole = Counter(person for person, ward, _ in rows if ward in range(200))
    people = Counter(snapshot.column(PERSON).tolist())
    assert sorted(people.values()) == sorted(min(most, rows) for rows in whole.values())
    assert sorted(people) == list(range(len(whole)))
    assert len(set(snapshot.column(PEOPLE).tolist())) == len(whole)
    everything = bag(population(as_table(rows), DOMAIN))
    assert not bag(snapshot) - everything


@settings(max_examples=40)
@given(rows=ROWS, more=st.tuples(st.just("a"), st.integers(0, 199), st.integers(0, 99).map(float)))
def test_one_row_more_moves_at_most_one_row(rows, more):
    before, after = kept(as_table(rows)), kept(as_table([*rows, more]))
    assert sum((before - after).values()) <= 1
    assert sum((after - before).values()) <= 1


@pytest.mark.parametrize("rows", [1, K, 100])
def test_one_person_more_adds_that_persons_rows_and_moves_nobody_elses(rows):
    others = {0: 1, 1: K, 2: 100}
    without, with_one = (kept(visits(people)) for people in (others, {**others, 9: rows}))
    assert not without - with_one
    assert sum((with_one - without).values()) == min(rows, K)


def test_rows_without_a_code_are_dropped_before_rows_are_chosen():
    """Somebody with many rows outside the domain keeps as many of the others as anybody."""
    rows = [("a", 300 + i, 5.0) for i in range(100)] + [("a", i, 5.0) for i in range(K)]
    assert kept(as_table(rows)) == {(i, 0, 5): 1 for i in range(K)}


def test_every_row_of_a_person_has_the_same_chance_also_if_most_are_equal():
    # 600 people with 9 equal rows and one other; with k = 2 the other one stays with probability 2/10.
    rows = [(f"p{p}", 1 if i else 0, 5.0) for p in range(600) for i in range(10)]
    [by_ward] = population(as_table(rows), DOMAIN, Unit("person", 2)).evaluate([BY_WARD])
    assert by_ward.sum() == 1200
    assert 120 - 57 < by_ward[0] < 120 + 57  # 5.8 standard deviations: 10^-8; 300 if equal rows shared one lot


def test_every_row_of_a_person_has_the_same_chance_wherever_it_is():
    """1,000 people with the wards 0 to 9, of which one is kept: each ward about 100 times."""
    rows = [(f"p{p}", ward, 5.0) for p in range(1000) for ward in range(10)]
    [by_ward] = population(as_table(rows), DOMAIN, Unit("person", 1)).evaluate([BY_WARD])
    spread = ((by_ward[:10] - 100.0) ** 2 / 100).sum()
    assert 0.35 < spread < 58  # chi-squared with 9 degrees of freedom: 10^-5 below, 10^-8 above; the table is fixed


MASK = 2**64 - 1


def mixed(word):
    """SplitMix64 in whole numbers, written from its definition."""
    word = (word + 0x9E3779B97F4A7C15) & MASK
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = ((word ^ (word >> shift)) * factor) & MASK
    return word ^ (word >> 31)


def test_the_rows_kept_are_those_whose_lot_is_smallest():
    """The rule itself, pinned: a vault's people must keep the same rows under every later version."""
    rows = [(f"p{p}", ward % 200, float(ward % 3)) for p in range(4) for ward in [*range(p, 200, 9), p, p, p]]
    people_key = hashlib.blake2b(b"people", key=KEY, digest_size=32).digest()
    secret = int.from_bytes(hashlib.blake2b(b"rows of a person", key=KEY, digest_size=8).digest(), "little")
    turns, lots = Counter(), {f"p{p}": [] for p in range(4)}
    for person, ward, cost in rows:
        key = int.from_bytes(hashlib.blake2b(person.encode(), key=people_key, digest_size=8).digest(), "little")
        content = mixed(key ^ secret)
        for column in (ward, 0, int(cost)):  # the codes of both attributes, and then the amount
            content = mixed(content ^ column)
        lots[person].append((mixed((content + turns[content]) & MASK), (ward, 0, int(cost))))
        turns[content] += 1
    assert kept(as_table(rows)) == Counter(row for person in lots.values() for _, row in sorted(person)[:K])


def test_another_key_keeps_other_rows():
    table = visits(dict.fromkeys(range(5), 100))
    assert kept(table) != kept(table, key=bytes(32))


def test_lots_are_mixed_by_splitmix64():
    # The first two numbers of the generator with seed 1234567, whose state grows by the same step each time.
    state = np.array([1234567, 1234567 + 0x9E3779B97F4A7C15], np.uint64)
    assert _mixed(state).tolist() == [6457827717110365317, 3203168211198807973]
    assert _mixed(np.zeros(1, np.uint64)).tolist() == [0xE220A8397B1DCDAF]


def test_negative_amounts_are_content_too():
    people = np.zeros(4, np.uint64)
    for most in (1, 2, 3):
        chosen = kept_rows(people, [np.array([-1, 1, -1, -128], np.int8)], most, KEY)
        assert chosen.sum() == most
        again = kept_rows(people, [np.array([-1, 1, -1, -128], np.int64)], most, KEY)
        assert chosen.tolist() == again.tolist()


def test_sums_are_of_the_rows_that_are_kept():
    table = as_table([("a", 1, 50.0)] * 100 + [("b", 2, 20.0)])
    assert population(table, DOMAIN, Unit("person", 3)).evaluate([Sum("cost", DOMAIN.everything)])[0] == 3 * 50 + 20


# --- ids ---


@pytest.mark.parametrize(("null_ids", "rows"), [("drop", K), ("own", K + 40)])
def test_rows_without_an_id_are_left_out_or_each_its_own_person(null_ids, rows):
    table = as_table([(None, 7, 1.0)] * 40 + [("", 8, 1.0)] * 40)
    snapshot = population(table, DOMAIN, Unit("person", K, null_ids))
    assert snapshot.evaluate([Count(DOMAIN.everything)])[0] == rows
    assert len(set(snapshot.column(PERSON).tolist())) == 1 + rows - K


def test_rows_without_an_id_are_refused_where_the_domain_says_so(tmp_path):
    table = as_table([("a", 7, 1.0), (None, 8, 1.0)])
    with pytest.raises(TableError, match="has rows without person, and its domain refuses them") as refusal:
        snapshot_in(tmp_path / "s", table, DOMAIN, Unit("person", K, "refuse"))
    assert not {"1", "8"} & set(str(refusal.value).split())
    whole = population(table.slice(0, 1), DOMAIN, Unit("person", K, "refuse"))
    assert whole.evaluate([Count(DOMAIN.everything)])[0] == 1


IDS = {
    "text": pa.array(["7", "8", "7", None, "7"]),
    "large text": pa.array(["7", "8", "7", None, "7"], pa.large_string()),
    "whole numbers": pa.array([7, 8, 7, None, 7], pa.int16()),
    "large whole numbers": pa.array([2**64 - 1, 8, 2**64 - 1, None, 2**64 - 1], pa.uint64()),
    "decimals": pa.array([Decimal("7.0"), Decimal(8), Decimal("7.00"), None, Decimal(7)], pa.decimal128(38, 2)),
    "small decimals": pa.array([Decimal("7.0"), Decimal(8), Decimal("7.00"), None, Decimal(7)], pa.decimal32(5, 2)),
    "a dictionary": pa.DictionaryArray.from_arrays(
        pa.array([255, 8, 255, None, 255], pa.uint8()), pa.array([str(i) for i in range(256)])
    ),
    "a dictionary with a missing entry": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 0, 2, 0], pa.int8()), pa.array(["7", "8", None])
    ),
    "UUIDs": pa.array([str(uuid.UUID(int=i)) if i else None for i in (7, 8, 7, 0, 7)]),
    "bytes that are not UTF-8": pa.Array.from_buffers(
        pa.string(), 5, pa.array([b"\xff", b"\xfe", b"\xff", None, b"\xff"]).buffers()
    ),
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS.keys())
def test_ids_of_every_type_tell_people_apart(ids):
    table = pa.table({"person": ids, "ward": range(5), "cost": [1.0] * 5})
    snapshot = population(table, DOMAIN, Unit("person", 2))
    assert Counter(Counter(snapshot.column(PERSON).tolist()).values()) == {2: 1, 1: 1}
    assert {(1, 0)} < set(points(snapshot)) < {(0, 0), (1, 0), (2, 0), (4, 0)}


def test_a_number_and_its_digits_are_one_id():
    """So that people are recognised whether a source has numbers or text."""
    as_text = pa.table({"person": [str(i % 7) for i in range(99)], "ward": range(99), "cost": [1.0] * 99})
    as_number = as_text.set_column(0, "person", pa.array([i % 7 for i in range(99)]))
    assert kept(as_text) == kept(as_number)


def test_a_whole_number_may_be_an_id_and_an_attribute_too():
    table = pa.table({"ward": [1] * 9 + [2], "cost": [5.0] * 10})
    assert bag(population(table, DOMAIN, Unit("ward", 3))) == {(1, 0): 3, (2, 0): 1}


def test_an_id_that_is_not_there_or_no_id_is_refused():
    with pytest.raises(DomainError, match="no column 'persom'; its columns are person, ward, cost"):
        population(visits({0: 1}), DOMAIN, Unit("persom", 1))
    with pytest.raises(DomainError, match="'cost' is double; an id is text, a whole number or a UUID"):
        population(visits({0: 1}), DOMAIN, Unit("cost", 1))
    seen = visits({0: 1}).append_column("seen", pa.array([0], pa.timestamp("s")))
    with pytest.raises(DomainError, match="'seen' is timestamp"):
        population(seen, DOMAIN, Unit("seen", 1))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("person", None), "need both"),
        ((None, 5), "need both"),
        ((None, None, "own"), "the domain says null_ids = 'own'; .* need both"),
        (("person", 0), "at least one row"),
    ],
)
def test_half_a_unit_is_refused(asked, words):
    with pytest.raises(DomainError, match=words):
        unit_of(*asked)


def test_a_unit_is_a_row_unless_somebody_says_otherwise():
    assert unit_of(None, None) is None
    assert Unit.from_json(unit_of("person", 5).to_json()) == Unit("person", 5, "drop")


# --- rosters ---

ROSTER = read_roster(pa.table({"person": range(10)}), "person")


def test_a_snapshot_on_a_roster_has_one_row_of_each_person_on_it_and_their_places():
    rows = [("3", 30, 1.0), ("003", 31, 1.0), ("5", 50, 1.0), ("stranger", 99, 1.0), (None, 98, 1.0), ("6", 300, 1.0)]
    snapshot = population(as_table(rows), DOMAIN, Unit("person", 1), roster=ROSTER)
    places = dict(zip(snapshot.column(PLACE).tolist(), snapshot.rows.codes("ward").tolist(), strict=True))
    [third, fifth] = ROSTER.places(np.array([key_of("3"), key_of("5")])).tolist()
    assert places.keys() == {third, fifth}
    assert places[third] in (30, 31)
    assert places[fifth] == 50


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 210), st.just(1.0)), max_size=30), st.randoms())
def test_whose_row_it_is_depends_on_nobody_else_on_a_roster_either(rows, chance):
    def of(listed):
        named = [(chance.choice([f"{p}", f" 0{p}", f"{p}.0"]), ward, cost) for p, ward, cost in listed]
        snapshot = population(as_table(named), DOMAIN, Unit("person", 1), roster=ROSTER)
        return Counter(zip(snapshot.column(PLACE).tolist(), snapshot.rows.codes("ward").tolist(), strict=True))

    shuffled = chance.sample(rows, len(rows))
    alone = (of([row for row in rows if row[0] == person]) for person in range(16))
    assert of(shuffled) == sum(alone, Counter())


# --- reading ---


def test_batches_change_nothing(monkeypatch):
    table, people = visits({p: 3 * p for p in range(12)}), Unit("person", K, "own")
    whole = [kept(table, unit) for unit in (None, people)]
    for size in (1, 7):
        monkeypatch.setattr(frame_module, "BATCH_ROWS", size)
        assert [kept(table, unit) for unit in (None, people)] == whole


@pytest.mark.parametrize("unit", [None, PERSON_UNIT], ids=["rows", "people"])
def test_how_far_a_reading_is_is_told_up_to_its_end(engine, people, domain, tmp_path, unit):
    told = []
    where = engine([{**row, "person": "x"} for row in people], tmp_path)
    if unit is not None and "person" not in open_source(where).columns:
        unit = Unit("sex", 100)
    snapshot_in(tmp_path / "s", where, domain, unit, progress=lambda what, share: told.append((what, share)))
    assert {what for what, _ in told} == {"reading the table"}
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_a_source_that_fails_half_way_fails_the_taking_in_its_own_words(tmp_path):
    source = open_source(visits({0: 100}))

    def torn(names, told):
        yield from source.read(names, told)
        raise TableError("the table cannot be read")

    with pytest.raises(TableError, match="the table cannot be read"):
        take_snapshot(replace(source, read=torn), DOMAIN, PERSON_UNIT, None, KEY, tmp_path / "s")
    assert not (tmp_path / "s" / "manifest.json").exists()


def test_as_many_rows_as_cannot_be_summed_are_refused(monkeypatch):
    monkeypatch.setattr(take_module, "MOST_ROWS", 100)
    assert population(visits({0: 99}), DOMAIN).rows.size == 99
    with pytest.raises(TableError, match="the table has 100 rows or more; read it where it is, with --live"):
        population(visits({0: 100}), DOMAIN)


@pytest.mark.parametrize(
    ("domain", "unit"),
    [(DOMAIN, Unit("cost", 1)), (Domain("v", (replace(DOMAIN["ward"], name="x"),)), None)],
    ids=["no id", "no column"],
)
def test_what_does_not_suit_is_refused_before_a_row_is_read(domain, unit, tmp_path):
    source = replace(open_source(visits({0: 1})), read=lambda *_: pytest.fail("rows were read"))
    with pytest.raises(DomainError, match=r"is double|no column"):
        take_snapshot(source, domain, unit, None, KEY, tmp_path / "s")
