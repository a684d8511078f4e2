"""What an audited vault releases: each function here makes one from what a user would call, and takes it apart by copy.

Beside the numbers stands what is stated of them, by the vault itself.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from math import prod

import numpy as np
import pyarrow as pa

from discreet.answer.reply import Answer
from discreet.empirical.copies import PEOPLE, Released, Releasing, Tables, vault_over
from discreet.empirical.evidence import Outcomes
from discreet.errors import UnsupportedQuery
from discreet.exact import Number
from discreet.home import JOURNAL
from discreet.ledger.budget import QueryBudget
from discreet.ledger.guarantee import Guarantee
from discreet.ledger.ledger import Ledger
from discreet.noise.law import Law
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Query
from discreet.synthetic.rows import synthesise
from discreet.vault.vault import Vault

MISSING = -1e9
"""Stands for a number that an answer does not have, in arrays that need one."""


def asked(select: str, *, scale: Number, where: str = "", by: str = "") -> Releasing:
    """What `ask` answers by copy."""
    sql = _sql(select, where, by)

    def release(vault: Vault, runs: int) -> Released:
        answer = vault.ask(sql, scale=scale)
        return _by_copy(answer, runs), answer.guarantee

    return release


def asked_in_turn(*selects: tuple[str, str], scale: Number, again: tuple[str, str]) -> Releasing:
    """Several questions, (SELECT, GROUP BY), and then one that is answered from what they released; the total."""

    def release(vault: Vault, runs: int) -> Released:
        answers = [_by_copy(vault.ask(_sql(select, "", by), scale=scale), runs) for select, by in (*selects, again)]
        return np.hstack(answers), vault.ledger.promise(vault.ledger.spent_max)

    return release


def knowing(rows: int, release: Releasing) -> Releasing:
    """The same where it is public, as a fact, that each copy has so many rows."""

    def with_fact(vault: Vault, runs: int) -> Released:
        vault.facts.add(cuboid=["copy"], values=np.full(runs, rows))
        return release(vault, runs)

    return with_fact


def measured(query: Callable[[Vault], Query], *, scale: Number) -> Releasing:
    """What the gate measures by copy, without anything that is made of it."""

    def release(vault: Vault, _runs: int) -> Released:
        found = vault.measure(query(vault), scale)
        return found.only.values, found.guarantee

    return release


def measured_again(query: Callable[[Vault], Query], *, scale: Number) -> Releasing:
    """The same measurement again and again, each charged and recorded by itself."""

    def release(vault: Vault, runs: int) -> Released:
        found = [vault.measure(query(vault), scale) for _ in range(runs)]
        return np.array([one.only.values for one in found]), found[-1].guarantee

    return release


def planned(queries: Sequence[Callable[[Vault], Query]], law: Law) -> Releasing:
    """Several measurements in one plan, all by copy."""

    def release(vault: Vault, runs: int) -> Released:
        found = vault.measure(Plan(tuple(Measurement(query(vault), law) for query in queries)))
        values = [noisy.values.reshape(runs, -1).astype(np.float64) for noisy in found.answers]
        return np.hstack(values), found.guarantee

    return release


def planned_again(query: Callable[[Vault], Query], law: Law) -> Releasing:
    """The same measurement many times in one plan, which states what all of them cost."""

    def release(vault: Vault, runs: int) -> Released:
        one = Plan((Measurement(query(vault), law),))
        found = vault.measure(Plan(one.measurements * runs))
        stated = vault.ledger.promise(one.cost(vault.domain, vault.ledger.budget).peak)
        return np.array([noisy.values for noisy in found.answers]), stated

    return release


def published(
    *cuboids: tuple[str, ...], consistent: bool = True, measure: str = "count", counts: str = "real", **planned: object
) -> Releasing:
    """The cells of a published cube: of its cuboids by copy, and by copy with each of those named."""
    names = [("copy", *cuboid) for cuboid in ((), *cuboids)]

    def release(vault: Vault, runs: int) -> Released:
        plan = vault.cubes.plan(cuboids=names, measure=measure, **planned)  # type: ignore[arg-type]
        cube = vault.cubes.publish(plan, consistent=consistent, counts=counts)  # type: ignore[arg-type]
        return np.hstack([cube[cuboid].values.reshape(runs, -1) for cuboid in names]), cube.guarantee

    return release


def drawn_rows(dimensions: Sequence[str], *, epsilon: Number) -> Releasing:
    """Synthetic rows of cubes that are measured anew: how many there are, and how many of each combination of codes."""

    def release(vault: Vault, runs: int) -> Released:
        plan = vault.cubes.plan(epsilon=epsilon, planner="model", dimensions=dimensions)
        text, shape = vault.ledger.header["domain"], [vault.domain[name].size for name in dimensions]
        found, cube = [], None
        for seed in range(runs):
            cube = vault.cubes.publish(plan, again=True)
            codes = synthesise(cube, text, seed=seed).codes()
            places = np.ravel_multi_index([codes[name] for name in dimensions], shape)
            found.append([len(places), *np.bincount(places, minlength=prod(shape))])
        assert cube is not None, "there is a run"
        return np.array(found, np.float64), cube.guarantee

    return release


def counted_in_subsets(
    tables: Tables, predicate: str, queries: int, failure: Number, runs: int
) -> tuple[Outcomes, Outcomes, Guarantee]:
    """SuLQ databases of one person each, who is asked about in every one of their queries."""
    of_first = np.arange(2 * runs) < runs
    table = tables.copied(of_first)
    roster = pa.table({"person": PEOPLE * np.arange(2 * runs)})  # who is on it may have no row
    settings = {"queries": queries, "delta": 1, "failure": failure, "roster": roster, "id": "person"}
    with vault_over(table, tables.domain(2 * runs), settings) as vault:
        stated, many = vault.ledger.guarantee, _room_for(vault, 2 * runs)
        with closing(many.ledger):
            people = [[person] for person in roster["person"].to_pylist() for _ in range(queries)]
            counts = many.sulq.ask_all(people, predicate).values.reshape(2, runs, queries)
    return counts[0].astype(np.float64), counts[1].astype(np.float64), stated


def _room_for(vault: Vault, databases: int) -> Vault:
    """The same vault with as many queries as so many databases have, each with its T; the noise is that of one."""
    budget = vault.ledger.budget
    if not isinstance(budget, QueryBudget):
        raise UnsupportedQuery("this vault has no budget of queries")
    roomy = replace(budget, queries=databases * budget.queries)
    ledger = Ledger.open(vault.path / JOURNAL, vault.domain, roomy)
    gate = replace(vault.gate, ledger=ledger)
    return replace(vault, ledger=ledger, _gate=gate, _memories=replace(vault._memories, ledger=ledger, gate=gate))


def _sql(select: str, where: str, by: str) -> str:
    groups = "copy" + (f", {by}" if by else "")
    return f"SELECT {groups}, {select} FROM audited{f' WHERE {where}' if where else ''} GROUP BY {groups}"


def _by_copy(answer: Answer, runs: int) -> Outcomes:
    """The numbers of an answer, those of each copy in a row."""
    rows = sorted(answer.rows, key=lambda row: int(str(row.labels[0])))
    values = [MISSING if row.value is None else row.value for row in rows]
    return np.array(values, np.float64).reshape(runs, -1)
