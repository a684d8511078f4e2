"""The vault: one directory that joins a table, a domain, a policy and a budget. The object that users hold."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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
from discreet.answer.as_of import foreseen_of, repeating, said_of
from discreet.answer.ask import ask, explain
from discreet.answer.desk import Desk
from discreet.answer.policy import Policy, Wish, exponential_like
from discreet.answer.reply import Answer, Explanation
from discreet.domain.conditions import region_where
from discreet.domain.domain import Domain
from discreet.domain.tables import LinkedTable, LinkedTables
from discreet.errors import (
    DiscreetError,
    PartyError,
    Refreshed,
    UnknownTable,
    UnsupportedQuery,
    VaultError,
)
from discreet.exact import Number
from discreet.fit import Fitted
from discreet.home import (
    RELEASES,
    ROSTER,
    budget_in,
    forget_snapshots,
    journal_of,
    read_key,
    read_settings,
    require_whole,
)
from discreet.ledger.asker import Asker
from discreet.ledger.budget import QueryBudget, require_amounts
from discreet.ledger.charge import Charge
from discreet.ledger.currency import require_currency
from discreet.ledger.declared import domain_in, tables_in
from discreet.ledger.guarantee import Neighbours
from discreet.ledger.ledger import Ledger
from discreet.ledger.places import header_of
from discreet.ledger.receipt import Receipt
from discreet.noise.bits import Bits
from discreet.notebook import NotebookView, Pairs
from discreet.progress import Progress, silent
from discreet.query.plan import Measurement, Plan, exact_scale
from discreet.query.query import Choice, Count, Quantile, Query, Sum
from discreet.release.archive import Archive
from discreet.release.gate import Gate
from discreet.release.own_table import OwnTable
from discreet.release.purchase import Purchase
from discreet.release.release import Release
from discreet.release.slots import Slots
from discreet.sql.question import Question
from discreet.vault.memory import Memories, Memory
from discreet.vault.public import Public, PublicDesk

if TYPE_CHECKING:
    from discreet.cube.public_model import PublicModel
    from discreet.mining.party import Party
    from discreet.mining.sulq import Calibration
    from discreet.replies import EntryJson
    from discreet.table.roster import Roster
    from discreet.vault.backup import Backup, Restored
    from discreet.vault.buckets import VaultBuckets
    from discreet.vault.cubes import VaultCubes
    from discreet.vault.erasure import Erasure
    from discreet.vault.facts import VaultFacts
    from discreet.vault.lookups import VaultLookups
    from discreet.vault.rows import VaultRows
    from discreet.vault.running import VaultRunning
    from discreet.vault.sulq import VaultSulq

KEY_WORDS = 4  # 256 bits
MOST_NAMED = 12


@dataclass(repr=False)
class Vault(NotebookView):
    """A private statistical database in one directory. Make one with `Vault.init`, come back with `Vault.open`."""

    path: Path
    ledger: Ledger
    _gate: Gate
    _own: OwnTable
    location: str
    policy: Policy
    _memories: Memories
    _all: "dict[str, Vault]" = field(default_factory=dict)
    """The same vault over each of its tables, where it has several."""

    @classmethod
    def init(
        cls,
        path: str | Path,
        *,
        table: object,
        domain: str | Path,
        neighbours: Neighbours | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
        queries: int | None = None,
        roster: object = None,
        calibration: "Calibration" = "exact",
        failure: Number | None = None,
        id: str | None = None,
        max_rows: int | None = None,
        discover: Number | None = None,
        discover_delta: Number | None = None,
        through: str | None = None,
        each_period: bool = False,
        ledger: str | None = None,
        live: bool = False,
        progress: Progress = silent,
        fitted: Fitted | None = None,
    ) -> "Vault":
        """Make a vault over a table: nothing of it is released, and nothing is spent, but for values to be discovered.

        The table is read once and coded into a snapshot that every later answer comes from; what happens to the source
        afterwards is nothing to the vault until `refresh`. With `live` the rows stay where they are, for tables too
        large to copy: plain tables of Postgres and Spark only, and the guarantee says so.

        The budget bounds everything that the vault will ever release, together: `epsilon` (pure differential privacy,
        Laplace noise), `rho` (zCDP, Gaussian noise), `mu` (Gaussian differential privacy, with the same noise), or
        `epsilon` with `delta` (kept by way of μ). `neighbours` says whom it protects: "add-remove", a person who may be
        in the table or not; "replace", a person whose row may be another. Where people have several rows, `id` is the
        column that tells people apart, and at most `max_rows` rows of each are kept; the domain says what rows without
        an id are. `ledger` is a Postgres database for the journal, for several hosts to share; a file in the vault if
        not given. `progress` as in `open`. `fitted` is told how the domain fits the table (`discreet domain fit`),
        unless it is read live: exact and confidential, for the custodian alone. What it raises stops the making, and
        leaves nothing behind.

        Where the domain says values = "discover", they are found in the table now, in a vault of (ε, δ), by a mechanism
        that takes the part `discover` of ε (0.2, or "20%") and `discover_delta` of δ (half of it). They are public from
        then on, and cost no more than that; what else is asked has the rest (docs/explain/discovery.md).

        Where the domain says that the table grows, `through` names the last period that is complete in it, 2026-12 say:
        rows of later ones are left out until `append` closes them. `max_rows` is then kept over all periods; with
        `each_period` in each of them, and the promise is about a person's rows of one period
        (docs/explain/growing.md).

        `queries` with `delta` make a SuLQ database instead: so many counts over subsets of a public `roster` (a file of
        record ids, as in column `id`), ever, that move nobody's log-odds by more than δ but for the probability
        `failure` (one in a million). `calibration` is "exact", the least noise that keeps it, or the "paper"'s.

        Where the domain declares several tables of the same people, `table` is a mapping of their names to their
        sources, and the domain says what tells people apart in each (docs/how-to/several-tables.md).
        """
        from discreet.vault.making import Wanted, make_vault

        budget = (neighbours, epsilon, delta, rho, mu, queries, roster, calibration, failure)
        wanted = Wanted(*budget, id, max_rows, discover, discover_delta, through, each_period, live)
        make_vault(Path(path), table, domain, wanted, ledger, progress, fitted)
        return cls.open(path, table=table, ledger=ledger)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        table: object = None,
        ledger: str | None = None,
        accept_rollback: bool = False,
    ) -> "Vault":
        """Open a vault. Its source is not touched: rows are read from the snapshot.

        `table` is where the source is now, for `refresh` and for rows that are read live, where the vault cannot know:
        its password, or a data frame. `ledger` is where a journal in Postgres is, with a password that no vault keeps
        (PGPASSWORD does as well). `accept_rollback` accepts a journal that is older than the last receipt seen: see the
        docs before you do.
        """
        home = Path(path)
        require_whole(home)
        settings = read_settings(home)
        journal = journal_of(home, settings.ledger, ledger)
        header = header_of(journal)
        account = Ledger.open(journal, domain_in(header), budget_in(header), accept_rollback=accept_rollback)
        forget_snapshots(home, account.snapshot)  # whoever took the current one may have been killed before they did
        if isinstance(settings.table, str):
            return cls._over(home, account, table, settings.table, settings.policy)
        tables, sources = tables_in(header), table if isinstance(table, Mapping) else {}
        every = {
            name: cls._over(home, account.at(tables.place(name)), sources.get(name), location, settings.policy)
            for name, location in settings.table.items()
        }
        for one in every.values():
            one._all = every
        return every[tables.tables[0].name]

    @classmethod
    def _over(cls, home: Path, account: Ledger, table: object, location: str, policy: Policy) -> "Vault":
        """A vault that is open, over its table or one of several."""
        roster, name = account.header.get("roster"), account.table

        def now() -> object:
            places = read_settings(home).table
            return places if name is None or isinstance(places, str) else places[name]

        own = OwnTable(
            home,
            account,
            cache(lambda: read_key(home)),
            lambda: now() if table is None else table,
            roster and cache(lambda: _roster(home, roster["fingerprint"])),
        )
        gate = Gate(account.domain, own.current, account, Archive(home / RELEASES), Bits())
        memories = Memories(home, account, gate, lambda gate: _facts(gate).current())
        return cls(home, account, gate, own, location, policy, memories)

    def table(self, name: str) -> "Vault":
        """The same vault over one of its tables: what it is asked, publishes and shows is of that one, and what it
        spends is everybody's in all of them."""
        if not self._all:
            if name.lower() != self.domain.name.lower():
                raise UnknownTable(f"there is no table {name[:60]!r}; this vault is over {self.domain.name} alone")
            return self
        over = self._all[tables_in(self.ledger.header)[name].name]
        return replace(over, _gate=replace(over._gate, asker=self._gate.asker, slots=self._gate.slots))

    def of_charge(self, charge: Charge) -> "Vault":
        """The same vault over the table that a charge is of."""
        return self if charge.table is None else self.table(charge.table)

    def _require_alone(self, what: str, instead: str = "make a vault over one of them for that") -> None:
        """Refuse what is not done over several tables, and say what to do instead."""
        if self._all:
            raise UnsupportedQuery(
                f"{what} in a vault over one table, and this one is over {', '.join(self._all)}; {instead} "
                "(docs/explain/known-gaps.md)"
            )

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of its tables in SQL."""
        return tuple(self._all) or (self.domain.name,)

    @property
    def linked(self) -> LinkedTables:
        """Its tables as they may be asked now, and how they are joined."""
        if self._all:
            return tables_in(self.ledger.header)
        return LinkedTables((LinkedTable(self.domain, len(self.domain.attributes)),))

    def asked_of(self, sql: str) -> "tuple[tuple[Vault, ...], str]":
        """Where a statement is answered, and what it is there: of several tables, those that it is about."""
        if not self._all:
            return (self,), sql
        from discreet.sql.tables import tables_asked

        asked, text = tables_asked(sql, self.linked)
        return tuple(self.table(table.name) for table in asked), text

    @property
    def domain(self) -> Domain:
        """What may be asked about: of a table that grows, as far as it goes by now."""
        return self.ledger.domain

    @property
    def gate(self) -> Gate:
        """What measures, in the domain as it is now."""
        return self._gate.over(self.domain)

    @property
    def _memory(self) -> Memory:
        return self._memories.of(self.domain)

    # What asking does not need takes long to import: each of these brings its own.

    def backup(self, file: str | Path) -> "Backup":
        """Copy the vault into one new file, whole whatever is asked meanwhile."""
        from discreet.vault.backup import backup_vault

        return backup_vault(self.path, Path(file))

    @staticmethod
    def restore(
        file: str | Path, path: str | Path, *, receipt: str | None = None, accept_rollback: bool = False
    ) -> "Restored":
        """Make a vault of a backup, where nothing is. Raises JournalRolledBack where a receipt shows that something was
        spent since: the last one seen here, or the one given. `accept_rollback` goes on, and the journal notes it."""
        from discreet.vault.backup import restore_vault

        return restore_vault(Path(file), Path(path), receipt=receipt, accept_rollback=accept_rollback)

    @property
    def cubes(self) -> "VaultCubes":
        """Data cubes: `vault.cubes.plan(…)`, `vault.cubes.publish(plan)`."""
        from discreet.vault.cubes import VaultCubes

        return VaultCubes(self.path, self.domain, self.ledger, self.gate, self.facts)

    @property
    def lookups(self) -> "VaultLookups":
        """Public code lists that questions join with: `vault.lookups.add(…)`, `vault.lookups.current()`."""
        from discreet.vault.lookups import VaultLookups

        return VaultLookups(self.path, self.domain, self.ledger)

    @property
    def rows(self) -> "VaultRows":
        """Synthetic rows: drawn from the model of everything public: `vault.rows.publish()`."""
        from discreet.vault.rows import VaultRows

        return VaultRows(self.domain, self.ledger, self.cubes, self)

    @property
    def model(self: Public) -> "PublicModel":
        """The model of everything public about the table as it is now: `vault.model["sex", "age"]`. It is fitted where
        it is not yet, and spends nothing."""
        from discreet.vault.models import public_measurements, public_model

        return public_model(public_measurements(self), self)

    @property
    def facts(self) -> "VaultFacts":
        """What is public anyway: `vault.facts.add(…)`, `vault.facts.preview(…)`, `vault.facts.current()`. A statement
        finds its own of several tables; cuboids, and what is listed, are of the one that the vault is over."""
        own = _facts(self.gate)
        return replace(own, route=self._facts_asked) if self._all else own

    def _facts_asked(self, sql: str) -> "tuple[VaultFacts, str]":
        overs, text = self.asked_of(sql)
        _require_one(overs, "a fact")
        return overs[0].facts, text

    @property
    def buckets(self) -> "VaultBuckets":
        """The rows themselves, under another promise: `vault.buckets.publish(…)`."""
        from discreet.vault.buckets import VaultBuckets

        self._require_alone("microdata is published")
        return VaultBuckets(self.domain, self.ledger, self._own, self.gate.bits)

    @property
    def running(self) -> "VaultRunning":
        """Running totals of periods: `vault.running.plan("month", rho=…)`, `.declare(plan)`, `.publish(through=…)`."""
        from discreet.vault.running import VaultRunning

        return VaultRunning(self.path, self.domain, self.ledger, self.gate)

    @property
    def sulq(self) -> "VaultSulq":
        """Counts over subsets of a roster: `vault.sulq.ask(…)`, `vault.sulq.plan(…)`, `vault.sulq.publish(plan)`."""
        from discreet.vault.sulq import VaultSulq

        return VaultSulq(self.path, self.domain, self.ledger, self.gate, self._own, self.policy, self.party)

    def party(self) -> "Party":
        """This vault as a party of a mining task: what `discreet serve` shows of it, without the server."""
        from discreet.mining.local import LocalParty

        budget, roster = self.ledger.budget, self.ledger.header.get("roster")
        if not isinstance(budget, QueryBudget) or roster is None:
            raise PartyError(f"{self.path} has no budget of queries; make a party with `discreet init --queries …`")
        return LocalParty(roster["people"], roster["fingerprint"], budget, self.ledger, self.sulq.ask_all)

    def _shown(self) -> tuple[str, Pairs]:
        attributes = [f"{attribute.name} {attribute.size:,}" for attribute in self.domain.attributes]
        more = [f"and {len(attributes) - MOST_NAMED} more"] if len(attributes) > MOST_NAMED else []
        told: Pairs = [
            ("path", self.path),
            ("table", self.location),
            ("attributes", " ".join([" × ".join(attributes[:MOST_NAMED]), *more])),
        ]
        with suppress(DiscreetError):  # a vault whose journal cannot be read is still shown
            ledger = self.ledger
            spent = ledger.budget.in_words(ledger.budget.amount_of(ledger.spent_max))
            told = [*told, ("promise", ledger.guarantee), ("spent", f"{spent} where most is spent")]
        others = [name for name in self.tables if name != self.domain.name]
        beside = f", beside {', '.join(others)}" if others else ""
        return f"Vault over {self.domain.name}{beside}", told

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
        require_amounts(self.ledger.budget)
        if scale is None:
            raise VaultError("say how much noise: measure(query, scale=100)")
        noise = self.ledger.budget.noise_of_scale(exact_scale(scale))
        law = exponential_like(noise, self.ledger.budget) if isinstance(query, Quantile | Choice) else noise
        return self.gate.measure(Plan((Measurement(query, law),)))

    def ask(
        self,
        sql: str,
        *,
        scale: Number | None = None,
        within: Number | None = None,
        confidence: Number | None = None,
        relax: bool | None = None,
        weights: Mapping[str, Number] | None = None,
        compound_size: int | None = None,
        estimate: Literal["unbiased", "modelled"] = "unbiased",
    ) -> Answer:
        """Answer a SELECT: from what is public where that is sharp enough, else measured, else relaxed.

        `scale` sets the noise (in people); `within` and `confidence` set the accuracy instead; with nothing said the
        vault's policy does. Of a statement with a public half (HAVING, ratios, windows, WITH, …) they are about the
        counts, sums and averages that it is made of. `relax` says whether a region without budget is answered by one
        nearby, or not at all; `weights` in which attributes that one may be off, and `compound_size` (ξ) of how many
        released answers it may be made; the policy's word where nothing is said. Every number is the best that is
        public by then: all released answers and facts are in it.

        With `estimate="modelled"` it is read from `model`, that of everything public: sharper and biased, and for
        nothing, whatever is left; refused where nothing that was released tells of it.
        """
        (over, *others), sql = self.asked_of(sql)
        if estimate != "unbiased":
            _require_one([over, *others], "the model of everything public")
            self._require_model(
                estimate, scale=scale, within=within, relax=relax, weights=weights or None, compound_size=compound_size
            )
            return over._ask_model(sql, confidence)
        wish = Wish.of(over.policy, scale, within, confidence)
        if others:
            from discreet.vault.linked import ask_over

            how = {"weights": weights, "relax": relax, "compound_size": compound_size}
            return ask_over([over, *others], sql, wish, how)
        memory = over._memory  # of one domain, also where rows are appended meanwhile
        asked, desk = memory.question(sql), over._desk_of(memory).relaxing(relax, weights, compound_size)
        purchase = Purchase(over._gate.over(memory.domain), over.policy.limits)
        desk = repeating(asked, wish, desk, memory.earlier())
        if isinstance(asked, Question):
            return said_of(ask(asked, wish, desk, purchase), desk)
        from discreet.answer.statement import ask_statement  # most questions have no public half

        return said_of(ask_statement(asked, wish, desk, purchase), desk)

    @staticmethod
    def _require_model(estimate: str, **sharper: object) -> None:
        if estimate != "modelled":
            raise UnsupportedQuery(f"an estimate is unbiased or modelled, not {estimate!r:.40}")
        given = [name for name, value in sharper.items() if value is not None]
        if given:
            raise UnsupportedQuery(f"a modelled answer draws no noise: leave out {' and '.join(given)}")

    def _ask_model(self: PublicDesk, sql: str, confidence: Number | None) -> Answer:
        """Answer a SELECT from the model of everything public. Spends nothing."""
        from discreet.answer.modelled import ask_modelled
        from discreet.vault.models import public_measurements, public_model

        wish, of = Wish.of(self.policy, None, None, confidence), public_measurements(self)
        return ask_modelled(self._memory.question(sql), wish, of, self._desk, lambda: public_model(of, self))

    def explain(
        self: PublicDesk,
        sql: str,
        *,
        scale: Number | None = None,
        within: Number | None = None,
        confidence: Number | None = None,
        relax: bool | None = None,
        weights: Mapping[str, Number] | None = None,
        compound_size: int | None = None,
        estimate: Literal["unbiased", "modelled"] = "unbiased",
    ) -> Explanation:
        """What `ask` would answer from, what it would cost and how far off it would be. Spends nothing."""
        (over, *others), sql = self.asked_of(sql)
        if estimate != "unbiased":
            _require_one([over, *others], "the model of everything public")
            from discreet.answer.modelled import explain_modelled
            from discreet.vault.models import public_measurements

            Vault._require_model(
                estimate, scale=scale, within=within, relax=relax, weights=weights or None, compound_size=compound_size
            )
            plain = Wish.of(over.policy, None, None, confidence)
            return explain_modelled(over._memory.question(sql), plain, public_measurements(over), over._desk)
        wish = Wish.of(over.policy, scale, within, confidence)
        if others:
            from discreet.vault.linked import explain_over

            how = {"weights": weights, "relax": relax, "compound_size": compound_size}
            return explain_over([over, *others], sql, wish, how)
        memory = over._memory
        asked, desk = memory.question(sql), over._desk_of(memory).relaxing(relax, weights, compound_size)
        desk = repeating(asked, wish, desk, memory.earlier())
        if isinstance(asked, Question):
            return foreseen_of(explain(asked, wish, desk), desk)
        from discreet.answer.foreseen_statement import explain_statement

        return foreseen_of(explain_statement(asked, wish, desk), desk)

    def asked_by(self, asker: Asker, slots: Slots | None = None) -> "Vault":
        """The same vault, with every charge in somebody's name and within what they may spend; and every answer
        recorded at the end of a time slot, where there are some."""
        return replace(self, _gate=replace(self._gate, asker=asker, slots=slots or self._gate.slots))

    @property
    def _desk(self) -> Desk:
        return self._desk_of(self._memory)

    def _desk_of(self, memory: Memory) -> Desk:
        require_amounts(self.ledger.budget)
        return Desk(memory.domain, self.ledger, memory.known, self.policy, memory.others, self._gate.asker)

    def budget(self: Public) -> BudgetReport:
        """What is spent and what is left, as ε for one person."""
        return budget_report(self.ledger)

    def budget_map(self: Public, rows: str, columns: str) -> NDArray[np.float64]:
        """The least ε left for each pair of codes of two attributes, over all codes of the others."""
        return budget_map(self.ledger, rows, columns)

    def plot_budget(self: Public, *attributes: str, path: str | Path) -> None:
        """Draw what is left, by region: a heat map over two attributes."""
        plot_budget(self.ledger, attributes, path)

    def describe(self: Public) -> dict[str, Any]:
        """The vault in public terms: its domain, its promise, its place."""
        return {"vault": str(self.path), "table": self.location, **description(self.ledger)}

    def source_state(self) -> str:
        """Whether the source was written to since the snapshot, as far as it can be told; for the custodian."""
        from discreet.table.state import state_of_source

        if self.ledger.is_live:
            return "read live, where it is"
        return state_of_source(self._own.snapshot().manifest["stamp"], self._own.locate())

    def entries(self: Public, after: int = 0) -> "Iterator[EntryJson]":
        """The journal, entry by entry, with what each one says in words."""
        return entries_in_words(self.ledger, after)

    def releases(self: Public) -> Iterator[Release]:
        """Everything that was released, in order. Public, and free."""
        return (self._memory.recall(charge, record) for charge, record in self.ledger.answered())

    def release(self: Public, charge: int) -> Release:
        """One release, by the number of its charge."""
        found, record = self.ledger.charge_at(charge), self.ledger.recorded(charge)
        if charge in self.ledger.closed():
            raise VaultError(f"charge {charge} was closed without an answer: it paid for an earlier snapshot")
        if found is None or record is None:
            raise VaultError(f"there is no release {charge}; see `discreet release list {self.path}`")
        return self.of_charge(found)._memory.recall(found, record)

    def plan_text(self: Public, plan: Plan) -> list[str]:
        """Each measurement of a plan, as SQL with its noise."""
        return plan_text(plan, self.domain)

    def complete(self) -> list[Release]:
        """Finish charges whose answers were never recorded, because of a crash or a failure; nothing more is spent.

        One that somebody is at, or whose answer waits for its time slot, is waited for instead; those that paid for an
        earlier snapshot are closed without an answer (`ledger.closed()`): what was read now would be another table.
        """
        completed = []
        for over in self._all.values() or [self]:
            for charge in over.ledger.pending():
                over.gate.underway.wait(charge.plan)
                if over.ledger.recorded(charge.id) is not None:
                    continue
                try:
                    completed.append(over.gate.complete(charge))
                except Refreshed:
                    over.ledger.close_charge(charge.id)
        self.gate.settle()
        return completed

    def check_receipt(self, receipt: str | Receipt, *, accept_rollback: bool = False) -> None:
        """Raise unless the journal went on from where it was when the receipt was given. `accept_rollback` goes on
        without what was lost since, as `open` does for the last receipt seen here."""
        try:
            given = Receipt.parse(receipt) if isinstance(receipt, str) else receipt
        except ValueError as error:
            raise VaultError(str(error)) from None
        if accept_rollback:
            self.ledger.accept_lost(given)
        else:
            self.ledger.check_receipt(given)

    def refresh(
        self,
        table: object = None,
        *,
        live: bool | None = None,
        unless_same: bool = False,
        currency: str | None = None,
        progress: Progress = silent,
        fitted: Fitted | None = None,
        readmit: bool = False,
    ) -> Receipt:
        """Take a new snapshot: of the source as it is now, or of another table with the same columns. All spending is
        kept. `live` says whether rows are to be read live from now on; as before where nothing is said. `fitted` as in
        `init`: what it raises leaves the snapshot and the journal as they are.

        One budget protects a person in both snapshots. Someone may be at another point of the new one, so every region
        counts from now on as much spent as the most spent one; and what was released of the old one answers nothing.

        `unless_same`: a table with the very rows of the snapshot, under whatever name, is only noted as the source. The
        vault stays over its snapshot, what was released answers on, and the receipt is that of the last entry. Whether
        the journal has a refresh then depends on the rows: it is for a custodian who looks at a table, not for a job
        that runs by the clock (docs/explain/privacy.md, After a refresh).

        Whoever was erased is left out, whatever the table says of them, unless it is to `readmit` them all. They have
        no second budget then: every region counts as much spent as they could have used.

        `currency`: what the budget is to be counted in. A vault keeps the one that it was made with, and any other is
        refused before anything is read, as it would loosen what was promised (docs/explain/gaussian-privacy.md).
        """
        from discreet.vault.erasure import kept_out
        from discreet.vault.succession import refresh, refresh_all

        if currency is not None:
            require_currency(self.ledger.budget, currency)
        erased = None if readmit else kept_out(self)
        take = refresh_all if self._all else refresh
        return take(self, table, live, unless_same, progress, fitted, erased)

    def append(
        self,
        table: object = None,
        *,
        through: str | None = None,
        progress: Progress = silent,
        fitted: Fitted | None = None,
    ) -> Receipt:
        """Take in the rows of the next period, of a table that grows: from `table`, or from where the vault's own
        is; of several tables that grow, from a mapping of their names to sources, and from where the others are. With
        `through` those of all periods up to that one, 2026-12 say. They are closed then.

        Rows of other periods are left out; the domain may refuse those of closed ones. Rows that are there stay as they
        were, so that what was released stays true, answers on and costs nothing again; and nothing that was spent
        changes: a new period has spent nothing (docs/explain/growing.md). Running totals and standing cubes are
        published to that period: they were paid for when they were declared. `fitted` as in `init`.
        """
        from discreet.vault.append import append_rows
        from discreet.vault.at_append import publish_standing

        receipt = append_rows(self, table, through, progress, fitted)
        for over in self._all.values() or [self]:
            publish_standing(over)
        return receipt

    def erase(self, ids: object) -> "Erasure":
        """Take people out who ask for it: the vault goes over to its snapshot without them. `ids` is a file, or a
        frame, with a column of ids that is called as the table's. All spending is kept, and everybody else is where
        they were.

        They are kept out of every later snapshot (`refresh` has `readmit`). What was released stays, as of its
        snapshot, and answers nothing about the next one. The journal says that there was an erasure, and when: not of
        whom, of how many, nor whether they were there; and nothing that is told here depends on that
        (docs/how-to/erase.md).
        """
        from discreet.vault.erasure import erase_people

        return erase_people(self, ids)

    def _groups(self, by: str | Sequence[str]) -> tuple[str, ...]:
        return tuple(self.domain[name].name for name in ([by] if isinstance(by, str) else by))


def _roster(home: Path, fingerprint: str) -> "Roster":
    from discreet.table.roster import load_roster

    return load_roster(home / ROSTER, fingerprint)


def _require_one(overs: "Sequence[Public]", what: str) -> None:
    """Refuse a statement over several tables for what is of one."""
    if len(overs) > 1:
        names = " and ".join(over.domain.name for over in overs)
        raise UnsupportedQuery(f"{what} is of one table, and this is about {names}; say it of each")


def _facts(gate: Gate) -> "VaultFacts":
    from discreet.vault.facts import VaultFacts

    return VaultFacts(gate.domain, gate.ledger, gate.archive, gate.recall)
