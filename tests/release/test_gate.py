"""THE GATE: charge → read → noise → record → return, in this order and no other."""

import errno
import os
import threading
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.domain.region import Box, Region
from discreet.errors import (
    ArchiveError,
    BudgetExceeded,
    DomainError,
    EngineError,
    InvalidNoise,
    JournalCorrupt,
    JournalError,
    TableError,
    UnsupportedQuery,
)
from discreet.noise.bits import Bits, SeededBits
from discreet.noise.law import Exponential, Gaussian, Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Quantile, Residual, Sum
from discreet.release import gate as gate_module
from discreet.release.archive import Archive


def plan_of(*queries, scale=5):
    laws = [Exponential if isinstance(query, Quantile) else Laplace for query in queries]
    return Plan(tuple(Measurement(query, law(Fraction(scale))) for query, law in zip(queries, laws, strict=True)))


def kinds(gate):
    return [entry.kind for entry in gate.ledger.entries()]


class Spy:
    """Stands in front of an object and writes down which of its methods are called."""

    def __init__(self, inner, seen, **names):
        self._inner, self._seen, self._names = inner, seen, names

    def __getattr__(self, name):
        method = getattr(self._inner, name)
        if name not in self._names:
            return method

        def called(*args, **kwargs):
            self._seen.append(self._names[name])
            return method(*args, **kwargs)

        return called


@pytest.mark.parametrize("cells", [(), ("number",)], ids=["a number", "an array"])
def test_the_order_is_charge_read_noise_record(gate, domain, monkeypatch, cells):
    seen = []
    table = Spy(gate._table(), seen, require="require", evaluate="read")
    spied = replace(
        gate,
        _table=lambda: seen.append("open") or table,
        ledger=Spy(gate.ledger, seen, charge="charge", record="record"),
        archive=Spy(gate.archive, seen, save="save", settle="settle"),
    )
    draw = Laplace.sample
    monkeypatch.setattr(Laplace, "sample", lambda *args: seen.append("noise") or draw(*args))
    spied.measure(plan_of(Count(domain.everything, cells)))
    assert seen == ["open", "require", "charge", "read", "noise", "save", "record", "settle"]


@pytest.mark.alarm(1e-30)  # two keys of 256 bits are equal
def test_every_release_has_a_key_of_its_own_that_is_drawn_after_its_charge_is_durable(gate, domain, monkeypatch):
    keys = []
    draw = Bits._key

    def watched(bits):
        keys.append((draw(bits), kinds(gate)[-1], bits._purpose))
        return keys[-1][0]

    monkeypatch.setattr(Bits, "_key", watched)
    plan = plan_of(Count(domain.everything), Quantile("age", Fraction(1, 2), domain.everything))
    gate.measure(plan)
    gate.measure(plan)
    cost = plan.cost(domain, gate.ledger.budget)
    gate.complete(gate.ledger.charge(cost, plan.condensed(), snapshot=gate._table().id))
    assert [kind for _, kind, _ in keys] == ["charge"] * 3
    assert len({key for key, _, _ in keys}) == 3
    assert [name for _, _, name in keys] == [entry.hash for entry in gate.ledger.entries() if entry.kind == "charge"]


def test_every_number_of_a_release_has_noise_of_its_own(gate, domain):
    nobody = domain.slab("age", 45, 49)
    numbers, ages = Count(nobody, ("number",)), Count(nobody, ("age", "number"))
    release = gate.measure(
        Plan(
            tuple(
                Measurement(query, Laplace(Fraction(scale))) for query, scale in [(numbers, 5), (ages, 5), (numbers, 9)]
            )
        )
    )
    first, second, third = (noisy.units.reshape(-1, 10_000) for noisy in release.answers)
    columns = np.concatenate([first, second, third]).astype(float)
    assert columns.any(axis=1).sum() == len(columns)
    alike = np.corrcoef(columns[columns.std(axis=1) > 0]) - np.eye(len(columns))
    assert np.abs(alike).max() < 0.06  # six standard deviations of independent noise


def test_a_residual_beyond_whole_numbers_is_refused_before_anything_is_charged(gate, domain, monkeypatch):
    monkeypatch.setattr("discreet.query.residual.MOST_SPREAD", 100)
    with pytest.raises(UnsupportedQuery, match="at most 100 numbers, and this one 102"):
        gate.measure(Plan((Measurement(Residual(domain.everything, ("age", "sex")), Gaussian(Fraction(9))),)))
    assert kinds(gate) == ["init"]


def test_a_release_says_what_it_promises_and_where_it_is_recorded(gate, domain):
    women = domain.slab("sex", 0, 0)
    release = gate.measure(plan_of(Count(women), Sum("income", women)))
    assert release.guarantee.epsilon == Fraction(1, 5) + Fraction(40, 5)
    assert release.receipt == gate.ledger.head
    assert kinds(gate) == ["init", "charge", "record"]
    assert gate.ledger.pending() == []


def test_a_plan_beyond_the_budget_is_refused_and_leaves_no_trace(make_ledger, gate, domain):
    unread = SimpleNamespace(id=gate._table().id, require=lambda _: None, evaluate=lambda *_: pytest.fail("was read"))
    poor = replace(gate, ledger=make_ledger(epsilon=1), _table=lambda: unread)
    with pytest.raises(BudgetExceeded):
        poor.measure(plan_of(Count(domain.everything), scale="1/2"))
    assert kinds(poor) == ["init"]


class TestRefusedBeforeTheCharge:
    """What could only fail later is refused before anything is spent."""

    @pytest.fixture
    def refused(self, gate):
        def check(plan, error, words):
            with pytest.raises(error, match=words):
                gate.measure(plan)
            assert kinds(gate) == ["init"]

        return check

    def test_bits_that_can_be_foretold(self, gate, domain):
        with pytest.raises(InvalidNoise, match="SeededBits is not a production source"):
            replace(gate, bits=SeededBits(1)).measure(plan_of(Count(domain.everything)))
        with pytest.raises(InvalidNoise, match="SeededBits is not a production source"):
            replace(gate, bits=SeededBits(1)).complete(None)
        assert kinds(gate) == ["init"]

    def test_a_plan_of_nothing(self, refused):
        refused(Plan(()), UnsupportedQuery, "at least one query")

    @pytest.mark.parametrize(
        ("query", "error", "words"),
        [
            (lambda _: Count(Region((Box((0, 0, 0, 0), (51, 1, 2, 9999)),))), UnsupportedQuery, "reaches out of"),
            (lambda _: Count(Region((Box((0, 0), (1, 1)),))), UnsupportedQuery, "reaches out of the domain"),
            (lambda _: Count(Region((Box((-1, 0, 0, 0), (1, 1, 1, 1)),))), UnsupportedQuery, "reaches out of"),
            (lambda d: Count(d.everything, ("sex", "sex")), UnsupportedQuery, "groups an answer once"),
            (lambda d: Count(d.everything, ("sx",)), DomainError, "did you mean sex"),
            (lambda d: Sum("height", d.everything), DomainError, "no attribute 'height'"),
            (lambda d: Sum("sex", d.everything), UnsupportedQuery, "counted, not summed"),
            (lambda d: Quantile("age", Fraction(3, 2), d.everything), UnsupportedQuery, "between 0, the minimum"),
            (
                lambda d: Quantile("age", Fraction(1, 10**19), d.everything),
                UnsupportedQuery,
                "at most 18 decimal places",
            ),
            (lambda d: Quantile("age", Fraction(1, 2), d.slab("age", 50, 50)), UnsupportedQuery, "no value of age"),
            (lambda _: Quantile("age", Fraction(1, 2), Region(())), UnsupportedQuery, "no value of age lies in"),
            (
                lambda d: Quantile("number", Fraction(1, 2), d.everything, ("age", "sex", "income")),
                UnsupportedQuery,
                "would look at 3,060,000 counts",
            ),
        ],
    )
    def test_a_query_that_does_not_fit_the_domain(self, refused, domain, query, error, words):
        refused(plan_of(Count(domain.everything), query(domain)), error, words)

    def test_noise_beyond_the_sampler(self, refused, domain):
        refused(plan_of(Sum("income", domain.everything), scale=2**50), InvalidNoise, r"at most 2\*\*50")

    def test_more_numbers_than_can_be_released(self, refused, domain, monkeypatch):
        monkeypatch.setattr(gate_module, "RELEASE_CELLS", 10_000)
        refused(
            plan_of(Count(domain.everything), Count(domain.everything, ("number",))), UnsupportedQuery, "10,001 cells"
        )

    def test_a_table_that_is_not_the_vault_s_own(self, gate, domain):
        def changed():
            raise TableError("the table has changed")

        with pytest.raises(TableError):
            replace(gate, _table=changed).measure(plan_of(Count(domain.everything)))
        assert kinds(gate) == ["init"]


class Failing:
    """A table whose engine fails half-way."""

    def __init__(self, whole, error):
        self.id, self.require, self.error = whole.id, whole.require, error

    def evaluate(self, _):
        raise self.error


FAILURES = [EngineError("the engine failed"), ValueError("row 17: secret"), MemoryError(), KeyError("secret")]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda error: type(error).__name__)
def test_every_failure_after_the_charge_looks_the_same_and_can_be_completed(gate, domain, failure):
    broken = replace(gate, _table=lambda: Failing(gate._table(), failure))
    with pytest.raises(EngineError) as raised:
        broken.measure(plan_of(Count(domain.everything)))
    assert str(raised.value) == (
        "the answer could not be computed; charge 2 stands, and `discreet ledger complete` finishes it without a "
        "further charge"
    )
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    spent = gate.ledger.spent_max
    assert spent > 0
    [charge] = gate.ledger.pending()
    release = gate.complete(charge)
    assert (release.charge, gate.ledger.spent_max, gate.ledger.pending()) == (2, spent, [])
    assert kinds(gate) == ["init", "charge", "record"]


def test_a_sampler_that_fails_looks_the_same_too(gate, domain, monkeypatch):
    def fail(*_):
        raise InvalidNoise("a draw beyond 60 bits")

    monkeypatch.setattr(Laplace, "sample", fail)
    with pytest.raises(EngineError, match="the answer could not be computed; charge 2 stands"):
        gate.measure(plan_of(Count(domain.everything)))


def test_an_answer_that_could_not_be_recorded_is_completed_and_not_asked_again(gate, domain):
    class Full:
        """A ledger whose disk is full by the time of the record."""

        def __getattr__(self, name):
            return getattr(gate.ledger, name)

        def record(self, *_):
            raise JournalError("the disk is full", "nothing was written: free some space and ask again")

    with pytest.raises(JournalError) as raised:
        replace(gate, ledger=Full()).measure(plan_of(Count(domain.everything)))
    assert str(raised.value) == (
        "the disk is full; the answer was not recorded: charge 2 stands, and `discreet ledger complete` finishes it "
        "without a further charge"
    )
    [charge] = gate.ledger.pending()
    assert gate.complete(charge).charge == 2


def test_an_interrupt_keeps_the_charge_and_is_not_swallowed(gate, domain):
    with pytest.raises(KeyboardInterrupt):
        replace(gate, _table=lambda: Failing(gate._table(), KeyboardInterrupt())).measure(
            plan_of(Count(domain.everything))
        )
    assert len(gate.ledger.pending()) == 1


def test_a_release_comes_back_as_it_was(gate, domain):
    plan = plan_of(
        Count(domain.everything, ("number",)),
        Sum("income", domain.slab("sex", 0, 0)),
        Quantile("age", Fraction(1, 2), domain.everything, ("sex",)),
        scale=50,
    )
    release = gate.measure(plan)
    [(charge, record)] = gate.ledger.answered()
    again = gate.recall(charge, record)
    assert again.plan == plan
    assert (again.receipt, again.guarantee, again.charge) == (release.receipt, release.guarantee, release.charge)
    for one, other in zip(release.answers, again.answers, strict=True):
        assert np.array_equal(one.units, other.units)
        assert one.units.shape == other.units.shape


@pytest.mark.parametrize("by", [(), ("number",)], ids=["a number", "an array"])
def test_a_lost_race_returns_the_first_answer_and_forgets_its_own(gate, domain, by):
    plan, winner = plan_of(Count(domain.everything, by)), []

    class Late:
        """A ledger on which somebody else completes each charge just before us."""

        def __getattr__(self, name):
            return getattr(gate.ledger, name)

        def record(self, charge_id, body):
            [charge] = gate.ledger.pending()
            winner.append(gate.complete(charge))
            return gate.ledger.record(charge_id, body)

    loser = replace(gate, ledger=Late()).measure(plan)
    assert np.array_equal(loser.only.units, winner[0].only.units)
    assert loser.receipt == winner[0].receipt
    assert kinds(gate) == ["init", "charge", "record"]
    assert len(list(gate.archive.folder.glob("*"))) == len(by)


def test_threads_that_complete_one_charge_return_one_answer(gate, domain):
    with pytest.raises(EngineError):
        replace(gate, _table=lambda: Failing(gate._table(), ValueError())).measure(
            plan_of(Count(domain.everything, ("number",)))
        )
    [charge] = gate.ledger.pending()
    answers, start = [], threading.Barrier(6)

    def complete():
        start.wait()
        answers.append(gate.complete(charge).only.units)

    threads = [threading.Thread(target=complete) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 6
    assert all(np.array_equal(units, answers[0]) for units in answers)
    assert len(list(gate.archive.folder.iterdir())) == 1


class TestArchive:
    """Large releases live in a folder; the journal keeps their hash."""

    @pytest.fixture
    def released(self, gate, domain):
        release = gate.measure(plan_of(Count(domain.everything, ("number",)), Count(domain.everything, ("sex",))))
        [file] = gate.archive.folder.iterdir()
        return SimpleNamespace(release=release, file=file, recall=lambda: gate.recall(*next(gate.ledger.answered())))

    def test_small_numbers_take_two_bytes(self, released):
        assert released.file.stat().st_size == 2 * (10_000 + 2)
        assert released.file.stat().st_mode & 0o077 == 0

    @pytest.mark.parametrize("damage", ["changed", "cut", "removed"])
    def test_a_damaged_file_is_an_error_not_an_answer(self, released, damage):
        content = bytearray(released.file.read_bytes())
        if damage == "removed":
            released.file.unlink()
        else:
            content[17] ^= 1
            released.file.write_bytes(content if damage == "changed" else content[:-2])
        with pytest.raises(ArchiveError, match="is missing or damaged; restore it from a copy"):
            released.recall()

    @pytest.mark.parametrize("body", [{}, [], None, {"values": [[1]]}, {"values": [[2**70], [1, 2]]}, {"file": "x"}])
    def test_a_record_that_makes_no_sense_is_damage(self, gate, released, body):  # noqa: ARG002
        charge, record = next(gate.ledger.answered())
        with pytest.raises((JournalCorrupt, ArchiveError)):
            gate.recall(charge, replace(record, body=body))
        with pytest.raises(JournalCorrupt, match="release of charge 2 cannot be read"):
            gate.recall(replace(charge, plan=body), record)

    @pytest.mark.parametrize("largest", [2**15 - 1, 2**15, -(2**15), 2**31 - 1, 2**31, -(2**31), 2**62, -(2**62)])
    def test_every_size_of_number_comes_back(self, largest, tmp_path):
        archive = Archive(tmp_path / "releases")
        values = [np.full((2, 3000), largest, np.int64), np.array(-7), np.zeros((0, 4), np.int64)]
        record = archive.save(7, values)
        again = archive.load(record, [array.shape for array in values])
        assert all(np.array_equal(a, b) and b.dtype == np.int64 for a, b in zip(values, again, strict=True))

    @pytest.mark.parametrize("step", ["write", "fsync", "rename"])
    def test_a_full_disk_keeps_the_charge_and_leaves_no_draw_behind(self, gate, domain, monkeypatch, step):
        def full(*_, **__):
            raise OSError(errno.ENOSPC, "No space left on device")

        place = {"write": (np, "ascontiguousarray"), "fsync": (os, "fsync"), "rename": (os, "rename")}[step]
        plan = plan_of(Count(domain.everything, ("number",)))
        monkeypatch.setattr(*place, full)
        with pytest.raises(ArchiveError, match="free some space"):
            gate.measure(plan)
        monkeypatch.undo()
        assert list(gate.archive.folder.glob("*")) == list(gate.archive.folder.glob(".*")) == []
        [charge] = gate.ledger.pending()
        assert gate.complete(charge).value.shape == (10_000,)

    def test_draws_that_a_crash_left_behind_are_removed_with_the_answer(self, gate, domain):
        with pytest.raises(EngineError):
            replace(gate, _table=lambda: Failing(gate._table(), ValueError())).measure(
                plan_of(Count(domain.everything, ("number",)))
            )
        gate.archive.folder.mkdir()
        strays = [
            gate.archive.folder / name for name in ("2-0123456789abcdef.bin", ".2-x.part", "22-0.bin", ".12-y.part")
        ]
        for stray in strays:
            stray.write_bytes(b"a draw that was never released")
        gate.complete(gate.ledger.pending()[0])
        assert [stray.exists() for stray in strays] == [False, False, True, True]
