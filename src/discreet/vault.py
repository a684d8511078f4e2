"""The vault: one directory that joins a table, a domain, a policy and a budget. The object that users hold."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.account import (
    BudgetReport,
    budget_map,
    budget_report,
    description,
    entries_in_words,
    plan_text,
    plot_budget,
)
from discreet.answer.answer import Desk
from discreet.answer.ask import ask, explain
from discreet.answer.known import Known
from discreet.answer.policy import Policy, Wish, exponential_like, noise_of_scale
from discreet.answer.reply import Answer, Explanation
from discreet.domain.conditions import region_where
from discreet.domain.domain import Domain
from discreet.domain.read import domain_text, parse_domain
from discreet.errors import VaultError
from discreet.home import RELEASES, journal_of, make_home, read_key, read_settings, relocate_table, require_whole
from discreet.ledger.budget import Number, budget_from_json, budget_of
from discreet.ledger.guarantee import Neighbours
from discreet.ledger.ledger import Charge, Ledger, header_of
from discreet.ledger.postgres_uri import of_vault
from discreet.ledger.receipt import Receipt
from discreet.noise.bits import Bits
from discreet.query.lattice import Cuboids, Label, Lattice
from discreet.query.plan import Measurement, Plan, exact_scale
from discreet.query.query import Count, Quantile, Query, Sum
from discreet.release.archive import Archive
from discreet.release.gate import Gate
from discreet.release.own_table import OwnTable
from discreet.release.release import Release
from discreet.sql.parse import parse
from discreet.table.open import is_located, locate
from discreet.table.propose import propose
from discreet.table.table import open_table
from discreet.table.unit import NullIds, unit_of

if TYPE_CHECKING:
    from discreet.cube.cube import Cube
    from discreet.cube.plan import CubePlan, Objective
    from discreet.cube.progress import Progress

KEY_WORDS = 4  # 256 bits


@dataclass
class Vault:
    """A private statistical database in one directory. Make one with `Vault.init`, come back with `Vault.open`."""

    path: Path
    domain: Domain
    ledger: Ledger
    gate: Gate = field(repr=False)
    _own: OwnTable = field(repr=False)
    location: str
    policy: Policy

    @classmethod
    def init(
        cls,
        path: str | Path,
        *,
        table: object,
        domain: str | Path,
        neighbours: Neighbours,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        id: str | None = None,
        max_rows: int | None = None,
        null_ids: NullIds | None = None,
        ledger: str | None = None,
    ) -> "Vault":
        """Make a vault over a table: nothing of it is released, and nothing is spent.

        The budget bounds everything that the vault will ever release, together: `epsilon` (pure differential privacy,
        Laplace noise), `rho` (zCDP, Gaussian noise), or `epsilon` with `delta` (kept by way of zCDP). `neighbours` says
        whom it protects: "add-remove", a person who may be in the table or not; "replace", a person whose row may be
        another. Where people have several rows, `id` is the column that tells people apart, and at most `max_rows` rows
        of each are kept. `null_ids`: rows without an id are left out ("drop"), or each is a person of its "own".
        `ledger` is a Postgres database for the journal, for several hosts to share; a file in the vault if not given.
        """
        home = Path(path)
        if home.exists():
            raise VaultError(f"{home} is already there; open it, or choose another place")
        unit = unit_of(id, max_rows, null_ids)
        budget = budget_of(epsilon, delta, rho, neighbours, unit.max_rows if unit else 1)
        text = domain_text(domain)
        key = Bits().words(KEY_WORDS).tobytes()
        opened = open_table(table, parse_domain(text), unit, key)
        header = {
            "vault_id": Bits().words(2).tobytes().hex(),
            "budget": budget.to_json(),
            "domain": text,
            "unit": unit and unit.to_json(),
            "fingerprint": opened.fingerprint(key),
        }
        make_home(home, header, key, locate(table), ledger and of_vault(ledger, str(header["vault_id"])))
        return cls.open(home, table=None if is_located(table) else table, ledger=ledger)

    @classmethod
    def open(
        cls, path: str | Path, *, table: object = None, ledger: str | None = None, accept_rollback: bool = False
    ) -> "Vault":
        """Open a vault. A table that was handed over as a data frame has to be handed over again.

        `ledger` is where a journal in Postgres is, with a password that no vault keeps (PGPASSWORD does as well).
        `accept_rollback` accepts a journal that is older than the last receipt seen: see the docs before you do.
        """
        home = Path(path)
        require_whole(home)
        settings = read_settings(home)
        journal = journal_of(home, settings.ledger, ledger)
        header = header_of(journal)
        domain, budget = parse_domain(header["domain"]), budget_from_json(header["budget"])
        account = Ledger.open(journal, domain, budget, accept_rollback=accept_rollback)
        own = OwnTable(
            lambda: read_settings(home).table if table is None else table,
            domain,
            account,
            cache(lambda: read_key(home)),
        )
        gate = Gate(domain, own.verified, account, Archive(home / RELEASES), Bits())
        return cls(home, domain, account, gate, own, settings.table, settings.policy)

    def count(self, *, by: str | Sequence[str] = (), **conditions: object) -> Count:
        """The query for how many rows meet the conditions: `vault.count(age=(20, 50), sex="F")`. Free to make."""
        return Count(region_where(self.domain, conditions), self._groups(by))

    def sum(self, of: str, *, by: str | Sequence[str] = (), **conditions: object) -> Sum:
        """The query for the sum of a numeric attribute over the rows that meet the conditions."""
        return Sum(of, region_where(self.domain, conditions), self._groups(by))

    def measure(self, query: Query | Plan, scale: Number | None = None) -> Release:
        """Measure a query with noise of this scale, or a whole plan: charge → read → noise → record → return."""
        if isinstance(query, Plan):
            if scale is not None:
                raise VaultError("a plan has its own scales: measure(plan)")
            return self.gate.measure(query)
        if scale is None:
            raise VaultError("say how much noise: measure(query, scale=100)")
        noise = noise_of_scale(exact_scale(scale), self.ledger.budget)
        law = exponential_like(noise, self.ledger.budget) if isinstance(query, Quantile) else noise
        return self.gate.measure(Plan((Measurement(query, law),)))

    def ask(
        self,
        sql: str,
        *,
        scale: Number | None = None,
        within: Number | None = None,
        confidence: Number | None = None,
    ) -> Answer:
        """Answer a SELECT: from what is public where that is sharp enough, else measured, else relaxed.

        `scale` sets the noise (in people); `within` and `confidence` set the accuracy instead; with nothing said the
        vault's policy does.
        """
        return ask(parse(sql, self.domain), Wish.of(self.policy, scale, within, confidence), self._desk)

    def explain(
        self,
        sql: str,
        *,
        scale: Number | None = None,
        within: Number | None = None,
        confidence: Number | None = None,
    ) -> Explanation:
        """What `ask` would answer from, what it would cost and how far off it would be. Spends nothing."""
        return explain(parse(sql, self.domain), Wish.of(self.policy, scale, within, confidence), self._desk)

    @cached_property
    def _known(self) -> Known:
        return Known(self.domain, self.ledger, self.gate.recall)

    @property
    def _desk(self) -> Desk:
        return Desk(self.domain, self.ledger, self._known, self.policy, self.gate.measure)

    def budget(self) -> BudgetReport:
        """What is spent and what is left, as ε for one person."""
        return budget_report(self.ledger)

    def budget_map(self, rows: str, columns: str) -> NDArray[np.float64]:
        """The least ε left for each pair of codes of two attributes, over all codes of the others."""
        return budget_map(self.ledger, rows, columns)

    def plot_budget(self, *attributes: str, path: str | Path) -> None:
        """Draw what is left, by region: a heat map over two attributes."""
        plot_budget(self.ledger, attributes, path)

    def describe(self) -> dict[str, Any]:
        """The vault in public terms: its domain, its promise, its place."""
        return {"vault": str(self.path), "table": self.location, **description(self.ledger)}

    def entries(self, after: int = 0) -> Iterator[dict[str, Any]]:
        """The journal, entry by entry, with what each one says in words."""
        return entries_in_words(self.ledger, after)

    def releases(self) -> Iterator[Release]:
        """Everything that was released, in order. Public, and free."""
        return (self.gate.recall(charge, record) for charge, record in self.ledger.answered())

    def release(self, charge: int) -> Release:
        """One release, by the number of its charge."""
        found = next((pair for pair in self.ledger.answered() if pair[0].id == charge), None)
        if found is None:
            raise VaultError(f"there is no release {charge}; see `discreet release list {self.path}`")
        return self.gate.recall(*found)

    def plan_text(self, plan: Plan) -> list[str]:
        """Each measurement of a plan, as SQL with its noise."""
        return plan_text(plan, self.domain)

    def complete(self) -> list[Release]:
        """Finish charges whose answers were never recorded, because of a crash or a failure; nothing more is spent."""
        return [self.gate.complete(charge) for charge in self.ledger.pending()]

    def plan_cube(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        cuboids: Cuboids = "all",
        planner: str = "optimal",
        objective: "Objective" = "max",
        dimensions: Sequence[str] | None = None,
        weights: Mapping[tuple[Label, ...], float] | None = None,
        bound: float | None = None,
    ) -> "CubePlan":
        """Which cuboids to measure, with what shares of `epsilon` (or `rho`, by the vault's budget), and how exact
        every cuboid will be. Spends nothing.

        `cuboids` is "all", a number (all cuboids of at most so many dimensions), or a list of cuboids by their
        dimensions. `dimensions` are all attributes where nothing is said.
        """
        from discreet.cube.noise_model import noise_model  # planning brings compiled code that asking does not need
        from discreet.cube.planning import plan_cube

        names = tuple(self.domain[name].name for name in dimensions or self.domain.names)
        budget = self.ledger.budget
        return plan_cube(
            Lattice(tuple(self.domain[name].size for name in names), names),
            noise_model(epsilon, rho, budget),
            cuboids=cuboids,
            planner=planner,
            objective=objective,
            weights=weights,
            bound=bound,
        )

    def publish_cube(
        self, plan: "CubePlan | int", *, consistent: bool = True, progress: "Progress | None" = None
    ) -> "Cube":
        """Measure a plan's sources in one release, and compute its cuboids from them.

        With the number of a charge, the cube of a publish that was interrupted, or lost since: nothing more is spent.
        Not `consistent`: each cuboid by itself from its best source, so that roll-ups do not quite fit.
        """
        from discreet.cube.journal import note_plan, noted_plan, require_plan_for
        from discreet.cube.memory import require_memory
        from discreet.cube.progress import silent
        from discreet.cube.publish import cube_of, publish_cube

        told = progress or silent
        if isinstance(plan, int):
            charge = self._charge(plan)
            planned = noted_plan(charge, self.domain, self.ledger)
            require_memory(planned)
            record = self.ledger.recorded(charge.id)
            release = self.gate.complete(charge) if record is None else self.gate.recall(charge, record)
            return cube_of(planned, self.domain, release, consistent=consistent, progress=told)
        require_plan_for(plan, self.domain, self.ledger)
        require_memory(plan)
        note_plan(plan, self.domain, self.ledger)
        return publish_cube(plan, self.domain, self.gate.measure, consistent=consistent, progress=told)

    def _charge(self, number: int) -> Charge:
        charges = (*self.ledger.pending(), *(charge for charge, _ in self.ledger.answered()))
        found = next((charge for charge in charges if charge.id == number), None)
        if found is None:
            raise VaultError(f"there is no charge {number}; see `discreet ledger show {self.path}`")
        return found

    def check_receipt(self, receipt: str | Receipt) -> None:
        """Raise unless the journal went on from where it was when the receipt was given."""
        try:
            self.ledger.check_receipt(Receipt.parse(receipt) if isinstance(receipt, str) else receipt)
        except ValueError as error:
            raise VaultError(str(error)) from None

    def refresh(self, table: object = None) -> Receipt:
        """Accept a changed table (or another one with the same columns). All spending is kept.

        One budget protects a person in both versions. Someone may be at another point of the new one, so every region
        counts from now on as much spent as the most spent one; and what was released of the old one answers nothing.
        """
        own = self._own if table is None else replace(self._own, locate=lambda: table)
        fingerprint = own.open().fingerprint(read_key(self.path))
        if table is not None:
            self.location = locate(table)
            relocate_table(self.path, self.location)
        receipt = self.ledger.note("refresh", {"fingerprint": fingerprint})
        self._own, self.gate = own, replace(self.gate, table=own.verified)
        return receipt

    def _groups(self, by: str | Sequence[str]) -> tuple[str, ...]:
        return tuple(self.domain[name].name for name in ([by] if isinstance(by, str) else by))


def propose_domain(table: object, name: str | None = None) -> str:
    """A domain to fill in: names and types from the schema, never a value."""
    return propose(table, name)
