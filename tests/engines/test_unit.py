"""At most k rows of each person, on every engine: which ones depends on that person's rows alone."""

import hashlib
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from discreet.table.table import open_table

from discreet.domain.domain import Domain
from discreet.domain.read import parse_domain
from discreet.errors import DomainError, TableError
from discreet.query.query import Count, Sum
from discreet.table.unit import Unit, unit_of
from discreet.vault import Vault

KEY = bytes(range(32))
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


def visits(people, seed=0):
    """Rows of people with so many visits each: of person p, visits to the wards from 10·p on, each at a cost."""
    rows = [(f"p{p}", (10 * p + i) % 200, float((7 * i + p) % 100)) for p, n in people.items() for i in range(n)]
    order = np.random.default_rng(seed).permutation(len(rows))
    return as_table([rows[i] for i in order])


def as_table(rows):
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    kinds = {"person": pa.string(), "ward": pa.int64(), "cost": pa.float64()}
    return pa.table({name: pa.array(c, kind) for (name, kind), c in zip(kinds.items(), columns, strict=True)})


def kept(where, unit=None, key=KEY):
    """The population as a bag of points."""
    batches = open_table(where, DOMAIN, unit or Unit("person", K), key).codes()
    return Counter(tuple(row.values()) for batch in batches for row in batch.to_pylist())


def test_people_with_1_k_and_100_rows_keep_1_k_and_k(engine, tmp_path):
    # Wards tell whose row it is: 0-9 person 0, 10-19 person 1; person 2 has 100 rows in wards 20-119.
    opened = open_table(engine(visits({0: 1, 1: K, 2: 100}), tmp_path), DOMAIN, Unit("person", K), KEY)
    for _ in range(3):
        [by_ward, total] = opened.evaluate([BY_WARD, Count(DOMAIN.everything)])
        assert [by_ward[:10].sum(), by_ward[10:20].sum(), by_ward[20:].sum(), total] == [1, K, K, 1 + K + K]
        assert by_ward[0] == 1
        assert (by_ward[10 : 10 + K] == 1).all()


def test_the_order_of_the_rows_does_not_matter(engine, tmp_path):
    people = {p: (1, K, 100, 17)[p % 4] for p in range(12)}
    first, second = (kept(engine(visits(people, seed), tmp_path)) for seed in (1, 2))
    assert first == second
    assert sum(first.values()) == 3 * (1 + K + K + K)


@pytest.mark.parametrize("rows", [1, K, 100])
def test_one_person_more_adds_that_persons_rows_and_moves_nobody_elses(engine, rows, tmp_path):
    others = {0: 1, 1: K, 2: 100}
    without, with_one = (kept(engine(visits(people), tmp_path)) for people in (others, {**others, 9: rows}))
    assert not without - with_one
    assert sum((with_one - without).values()) == min(rows, K)


def test_one_row_more_moves_at_most_one_row(engine, tmp_path):
    before, after = (kept(engine(visits({0: n}), tmp_path)) for n in (40, 41))
    assert sum((before - after).values()) <= 1
    assert sum((after - before).values()) <= 1


def test_every_row_of_a_person_has_the_same_chance_also_if_most_are_equal(engine, tmp_path):
    # 300 people with 9 equal rows and one other; with k = 2 the other one stays with probability 2/10.
    rows = [(f"p{p}", 1 if i else 0, 5.0) for p in range(300) for i in range(10)]
    table = open_table(engine(as_table(rows), tmp_path), DOMAIN, Unit("person", 2), KEY)
    [by_ward] = table.evaluate([BY_WARD])
    assert by_ward.sum() == 600
    assert 60 - 35 < by_ward[0] < 60 + 35  # 5 standard deviations; 300/2 if equal rows shared one lot


def test_the_rows_kept_are_those_whose_hash_is_smallest(engine, tmp_path):
    """The rule itself, pinned: a vault's people must keep the same rows under every later version."""
    wards = Domain("visits", DOMAIN.attributes[:1])
    rows = [(f"p{p}", ward % 200) for p in range(4) for ward in [*range(p, 200, 9), p, p, p]]
    secret = hashlib.blake2b(b"rows of a person", key=KEY, digest_size=16).hexdigest()
    seen, lots = Counter(), []
    for person, ward in rows:
        content = hashlib.sha256(f"{secret}{len(person)}:{person}{len(str(ward))}:{ward}".encode()).hexdigest()
        lots.append((person, hashlib.sha256(f"{content}#{seen[content]}".encode()).hexdigest(), ward))
        seen[content] += 1
    expected = Counter((ward,) for p in range(4) for _, _, ward in sorted(lot for lot in lots if lot[0] == f"p{p}")[:K])
    table = pa.table({"person": [person for person, _ in rows], "ward": [ward for _, ward in rows]})
    batches = open_table(engine(table, tmp_path), wards, Unit("person", K), KEY).codes()
    assert Counter(tuple(row.values()) for batch in batches for row in batch.to_pylist()) == expected


def test_another_key_keeps_other_rows(engine, tmp_path):
    where = engine(visits(dict.fromkeys(range(5), 100)), tmp_path)
    assert kept(where) != kept(where, key=bytes(32))


@pytest.mark.parametrize(("null_ids", "rows"), [("drop", K), ("own", K + 40), ("refuse", K)])
def test_rows_without_an_id_are_left_out_or_each_its_own_person(engine, null_ids, rows, tmp_path):
    table = as_table([(None, 7, 1.0)] * 40 + [("", 8, 1.0)] * 40)
    opened = open_table(engine(table, tmp_path), DOMAIN, Unit("person", K, null_ids), KEY)
    assert opened.evaluate([Count(DOMAIN.everything)])[0] == rows


def domain_file(folder, null_ids):
    said = f'null_ids = "{null_ids}"\n' if null_ids else ""
    ward = '[attributes.ward]\nkind = "integer"\nlow = 0\nhigh = 199\nsource = "a test"\n'
    (folder / "visits.toml").write_text('name = "visits"\n' + said + ward)
    return folder / "visits.toml"


def make(folder, table, null_ids, **unit):
    given = {"epsilon": 100, "neighbours": "add-remove", **(unit or {"id": "person", "max_rows": K})}
    return Vault.init(folder / "vault", table=table, domain=domain_file(folder, null_ids), **given)


@pytest.mark.parametrize(("null_ids", "rows"), [(None, K), ("drop", K), ("own", K + 40)])
def test_the_domain_says_what_rows_without_an_id_are(engine, null_ids, rows, tmp_path):
    table = engine(as_table([(None, 7, 1.0)] * 40 + [("a", 8, 1.0)] * 40), tmp_path)
    vault = make(tmp_path, table, null_ids)
    assert abs(int(vault.measure(vault.count(), scale="1/4").value) - rows) < 10
    assert vault.ledger.header["unit"]["null_ids"] == (null_ids or "drop")


def test_a_domain_that_refuses_rows_without_an_id_does_so_before_there_is_a_vault(engine, tmp_path):
    whole, torn = ([("a", 7, 1.0)] * 5, [("a", 7, 1.0), (None, 8, 1.0)])
    with pytest.raises(TableError, match="has rows without person, and its domain refuses them"):
        make(tmp_path, engine(as_table(torn), tmp_path), "refuse")
    assert not (tmp_path / "vault").exists()
    vault = make(tmp_path, engine(as_table(whole), tmp_path), "refuse")
    before = vault.ledger.head
    with pytest.raises(TableError, match="refuses them"):
        vault.refresh(engine(as_table(torn), tmp_path))
    assert vault.ledger.head == before
    assert abs(int(vault.measure(vault.count(), scale="1/4").value) - 5) < 10


def test_who_asks_is_not_told_that_a_row_without_an_id_appeared(tmp_path):
    pq.write_table(as_table([("a", 7, 1.0)] * 5), tmp_path / "visits.parquet")
    vault = make(tmp_path, tmp_path / "visits.parquet", "refuse")
    pq.write_table(as_table([("a", 7, 1.0)] * 5 + [(None, 8, 1.0)]), tmp_path / "visits.parquet")
    with pytest.raises(TableError, match="the table has changed since the vault was made") as refusal:
        vault.measure(vault.count(), scale=1)
    assert "person" not in str(refusal.value)


def test_a_domain_that_speaks_of_ids_needs_the_column(tmp_path):
    table = as_table([("a", 7, 1.0)])
    with pytest.raises(DomainError, match=r"the domain says null_ids = 'own'; people with several rows need both"):
        make(tmp_path, table, "own", max_rows=None)


def test_sums_are_of_the_rows_that_are_kept(engine, tmp_path):
    table = as_table([("a", 1, 50.0)] * 100 + [("b", 2, 20.0)])
    opened = open_table(engine(table, tmp_path), DOMAIN, Unit("person", 3), KEY)
    assert opened.evaluate([Sum("cost", DOMAIN.everything)])[0] == 3 * 50 + 20


def test_a_fingerprint_depends_on_rows_and_on_which_are_kept(engine, tmp_path):
    where = engine(visits({0: 100}), tmp_path)
    plain, bounded, tighter = (
        open_table(where, DOMAIN, unit, KEY).fingerprint(KEY) for unit in (None, Unit("person", 5), Unit("person", 4))
    )
    assert len({plain, bounded, tighter}) == 3
    assert open_table(where, DOMAIN, Unit("person", 5), KEY).fingerprint(KEY) == bounded


def test_a_whole_number_may_be_an_id_and_an_attribute_too(tmp_path, engine):
    table = pa.table({"ward": [1] * 9 + [2], "cost": [5.0] * 10})
    assert kept(engine(table, tmp_path), Unit("ward", 3)) == {(1, 0): 3, (2, 0): 1}


def test_an_id_that_is_not_there_or_no_id_is_refused(engine, tmp_path):
    where = engine(visits({0: 1}), tmp_path)
    with pytest.raises(DomainError, match="no column 'persom' for an id; its columns are person, ward, cost"):
        open_table(where, DOMAIN, Unit("persom", 1), KEY)
    with pytest.raises(DomainError, match="'cost' is float64; an id is text, a whole number or a UUID"):
        open_table(where, DOMAIN, Unit("cost", 1), KEY)


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
