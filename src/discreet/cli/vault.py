"""discreet init | describe | budget | refresh | append | erase"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, cast

import typer
from rich.markup import escape

from discreet.cli.over import OverTable, sources_by_name, vault_over
from discreet.cli.present import Json, VaultPath, bar, command, err, out, pairs, print_json, say, table, waiting
from discreet.errors import InvalidBudget, TableError
from discreet.exact import count_text
from discreet.fit import Fit, Fitted
from discreet.ledger.declared import tables_in
from discreet.ledger.guarantee import DeltaT

if TYPE_CHECKING:
    from discreet.account import BudgetReport
    from discreet.ledger.receipt import Receipt
    from discreet.vault.vault import Vault

Done = TypeVar("Done")

ACCEPTED_LOSS = "5%"
"""The share of rows that may be left out before `init` and `refresh` stop: a table that loses more is mostly misread.
"""
READING = "reading the table into a snapshot"


Live = Annotated[
    bool,
    typer.Option("--live", help="leave the rows where they are: plain tables of Postgres, or Spark's files"),
]


@command
def init(
    vault: VaultPath,
    source: Annotated[
        list[str],
        typer.Option(
            "--table",
            help="a Parquet, CSV or DuckDB file, postgres://…?table=people, spark+parquet:…; of several tables each by "
            "its name: --table patients=patients.parquet --table visits=visits.csv",
        ),
    ],
    domain: Annotated[Path, typer.Option(help="the table's public description, in TOML")],
    neighbours: Annotated[
        str | None, typer.Option(help="whom it protects: add-remove or replace; a required choice but with --queries")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="the budget for everything ever released: 1, 0.5, 1/3; pure where alone")
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(help="with --epsilon: (ε, δ), by way of Gaussian DP; with --queries: how far log-odds may move"),
    ] = None,
    rho: Annotated[str | None, typer.Option(help="instead: a budget of zCDP, with Gaussian noise")] = None,
    mu: Annotated[str | None, typer.Option(help="instead: a budget of Gaussian DP, with Gaussian noise")] = None,
    queries: Annotated[
        int | None, typer.Option(help="instead: a SuLQ database, with so many counts over subsets of a roster, ever")
    ] = None,
    roster: Annotated[Path | None, typer.Option(help="with --queries: the public list of record ids, a file")] = None,
    calibration: Annotated[
        str, typer.Option(help="with --queries: exact, the least noise that keeps δ, or the paper's")
    ] = "exact",
    failure: Annotated[
        str | None, typer.Option(help="with --queries: how probable more than δ may be; 1e-6 by default")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="keep the journal in Postgres: postgres://USER@HOST:PORT/DATABASE")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="the column that tells people with many rows apart")
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option(help="with --id: at most so many rows of each person are kept")
    ] = None,
    discover: Annotated[
        str | None,
        typer.Option(metavar="PART", help='the part of ε that finds values = "discover" in the table: 0.2, or 20%'),
    ] = None,
    discover_delta: Annotated[
        str | None, typer.Option(metavar="PART", help="the part of δ that finds them; half of it where nothing is said")
    ] = None,
    through: Annotated[
        str | None,
        typer.Option(metavar="PERIOD", help="of a table that grows: the last period that is complete in it, 2026-12"),
    ] = None,
    each_period: Annotated[
        bool, typer.Option("--each-period", help="with --max-rows: keep so many rows of each period, not of all")
    ] = False,
    live: Live = False,
    accept_loss: Annotated[
        str,
        typer.Option(metavar="SHARE", help="stop, or ask, where more of the rows would be left out: 0.2, or 20%"),
    ] = ACCEPTED_LOSS,
    quiet: Annotated[bool, typer.Option("--quiet", help="do not look at how the domain fits the table")] = False,
    as_json: Json = False,
) -> None:
    """Make a vault over a table. Nothing is released and nothing is spent, but for values to be discovered."""
    from discreet.vault.vault import Vault

    if neighbours not in ("add-remove", "replace") and queries is None:
        raise InvalidBudget(
            "--neighbours is add-remove (someone may be in the table or not) or replace (someone's row may be another)"
        )

    def make(fitted: Fitted | None) -> "Vault":
        with waiting(READING, as_json) as told:
            return Vault.init(
                vault,
                table=source[0] if len(source) == 1 else sources_by_name(source),
                domain=domain,
                epsilon=epsilon,
                delta=delta,
                rho=rho,
                mu=mu,
                neighbours=cast(Literal["add-remove", "replace"] | None, neighbours),
                queries=queries,
                roster=roster,
                calibration=cast(Literal["exact", "paper"], calibration),
                failure=failure,
                id=id_column,
                max_rows=max_rows,
                discover=discover,
                discover_delta=discover_delta,
                through=through,
                each_period=each_period,
                ledger=ledger,
                live=live,
                progress=told,
                fitted=fitted,
            )

    made = make(None) if quiet or live else _done_if_it_fits(make, accept_loss, MAKING, as_json)
    if as_json:
        print_json(made.describe())
        return
    name = escape(str(vault))
    out.print(f"[bold]{name}[/] is ready: {made.ledger.guarantee}.")
    for attribute, told in tables_in(made.ledger.header).found_in_words.items():
        out.print(f"[dim]Found of {escape(attribute)}:[/] {told}", soft_wrap=True)
    out.print(f"[dim]Next:[/] discreet describe {name}")


def is_typed() -> bool:
    """Whether somebody can answer a question."""
    return sys.stdin.isatty()


@dataclass(frozen=True)
class TakingWords:
    """What is done with a table, in words: the question whether to do it nevertheless, and what refusing it means."""

    question: str
    refused: str
    closes: bool = False
    """Whether periods are closed by it, in which nothing can be put right later."""
    mend: str = "The domain stays as it is: mend the rows"
    """What to do about the loss instead of accepting it."""
    replaces: bool = False
    """Whether rows that are there go with it, of periods that were closed before."""


MAKING = TakingWords("Make the vault nevertheless?", "no vault was made", mend="Mend the domain from public documents")
APPENDING = TakingWords("Append them nevertheless?", "no rows were appended", closes=True)
REFRESHING = TakingWords(
    "Take the snapshot nevertheless?", "the vault stays over the snapshot that it has", replaces=True
)


ENDED = (
    "Running totals and standing cubes ended with that: what was published stays, what was set aside for later periods "
    "stays spent, and new ones are to be declared."
)


class _TooManyLost(Exception):
    """More rows would be left out than were accepted. Its text says why the table is not taken."""


def _done_if_it_fits(
    take: Callable[[Fitted | None], Done], accept_loss: str | None, words: TakingWords, as_json: bool
) -> Done:
    """Take a table, and say how its domain fits where somebody sits at the terminal: nowhere else is it written.

    Where more is lost than was accepted, whoever sits there is asked, and else it is refused; None accepts whatever is
    lost.
    """
    from discreet.cli.show_fit import accepted_share, show_fit

    accepted = None if accept_loss is None else accepted_share(accept_loss)
    seen: list[Fit] = []
    watched = err.is_interactive and not as_json

    def fitted(fit: Fit) -> None:
        seen.append(fit)
        if accepted is not None and fit.loses_more_than(accepted):
            raise _TooManyLost(_why_not(accepted, words, fit.table))
        of = f" of {fit.table}" if fit.table else ""
        if words.replaces and accepted is not None and fit.empty:
            more = f" and {len(fit.empty) - 1:,} more" if len(fit.empty) > 1 else ""
            raise _TooManyLost(
                f"no row{of} is of {fit.empty[0]}{more}, though closed: {words.refused}. A refresh has what is read "
                "now, and nothing else: name a table with all periods, those that were appended too; --quiet takes it "
                "as it is"
            )
        if words.closes and fit.misses_its_periods:  # whatever else of the rows may be lost
            raise _TooManyLost(
                f"none of the rows{of} is of what would be closed, or most are of later periods: {words.refused}. Is "
                "it the right file, or was a period skipped? --through names the last period that it has; --quiet "
                "takes it as it is, and what is closed by that stays closed"
            )

    try:
        done = take(fitted)
    except _TooManyLost as why:
        if watched:
            show_fit(seen[-1], err)
        if not watched or not is_typed() or not typer.confirm(words.question, err=True):
            raise TableError(str(why)) from None
        return take(None)
    if watched:
        for fit in seen:  # one for each table
            show_fit(fit, err)
    return done


def _why_not(accepted: float, words: TakingWords, table: str | None) -> str:
    """Why a table is not taken. Where any loss was accepted, only one thing can be so: nothing is there to be lost."""
    if accepted >= 1:
        which = f"table {table}" if table else "table"
        return f"the {which} has no rows: {words.refused}. Is it the right file? --quiet takes it as it is"
    of = f" of {table}" if table else ""
    return (
        f"more than {accepted:.0%} of the rows{of} would be left out, or are no numbers where there should be some, or "
        f"there are no rows: {words.refused}. At a terminal the same command shows why, and of single columns "
        "`discreet domain fit`: rows without an id, and beyond the most that are kept of one person, are left out too. "
        f"{words.mend}, or say how much may be lost: --accept-loss 20%, or 100% for any"
    )


@command
def describe(vault: VaultPath, over: OverTable = None, as_json: Json = False) -> None:
    """Show what may be asked: the table's name, its attributes and codes, the promise."""
    opened = vault_over(vault, over)
    description = {**opened.describe(), "source": opened.source_state()}
    if as_json:
        print_json(description)
        return
    shown = ("vault", "table", "source", "snapshot", "guarantee", "people", "roster", "noise")
    told = [(key, _plainly(description[key])) for key in shown if key in description]
    growing = opened.ledger.horizon.growing
    if growing is not None:
        last = growing.label(growing.cells - 1)
        told.append(("grows", f"by {growing.name}: closed up to {opened.ledger.closed_period}, and at most to {last}"))
    pairs(description["name"], told)
    rows = [
        (a["name"], a["kind"], f"{a['codes']:,}", a["values"], a["outside"], a["source"])
        for a in description["attributes"]
    ]
    out.print()
    table("", ("attribute", "kind", "codes", "values", "outside", "source"), rows, right=("codes",))
    out.print(f"[dim]{count_text(description['points'])} points in the domain[/]")
    for each in description.get("tables", ()):
        joined = f", each with its row of {each['parent']} by {each['key'] or each['id']}" if each["parent"] else ""
        most = count_text(each["max_rows"])
        out.print(f"[dim]{escape(each['name'])}: at most {most} of one person{escape(joined)}[/]")


@command
def budget(
    vault: VaultPath,
    plot: Annotated[
        tuple[str, Path] | None,
        typer.Option(metavar="A,B FILE", help="draw what is left over two attributes: --plot age,income budget.png"),
    ] = None,
    over: OverTable = None,
    as_json: Json = False,
) -> None:
    """Show what is spent and what is left, as ε for one person."""
    opened = vault_over(vault, over)
    if plot is not None:
        opened.plot_budget(*plot[0].split(","), path=plot[1])
    if as_json:
        print_json(opened.budget())
    else:
        show_budget(opened)


def _plainly(value: object) -> object:
    return f"{value:,}" if isinstance(value, int) else value


def _queries_rows(report: "BudgetReport", share: float) -> list[tuple[str, object]]:
    return [
        ("promise", report.guarantee),
        ("spent", f"{int(report.spent):,} of {int(report.spent + report.left):,} queries"),
        ("left", f"{int(report.left):,} queries, ever"),
        ("", f"{bar(share)} {share:.1%}"),
        ("charges", f"{report.charges:,}"),
    ]


def show_budget(vault: "Vault") -> None:
    """Print what is spent and what is left."""
    report = vault.budget()
    budget = vault.ledger.budget
    overdrawn, share = report.spent > budget.total, float(report.spent / budget.total)
    here, elsewhere = budget.share(report.left), budget.share(report.elsewhere)
    more = f", up to {elsewhere} elsewhere" if report.elsewhere > report.left and elsewhere != here else ""
    left = f"{budget.in_words(report.left)}{' there' if more else ''}{more}"
    rows: list[tuple[str, object]] = [
        ("promise", report.guarantee),
        ("spent", f"{budget.in_words(report.spent)}{' where most is spent' if more else ''}"),
        ("left", "nothing: facts have lowered the limit" if overdrawn else left),
        ("", f"{bar(share)} {share:.1%}"),
        ("charges", f"{report.charges:,}"),
    ]
    if isinstance(report.guarantee, DeltaT):
        rows = _queries_rows(report, share)
    if report.by_user:
        spent_by = ", ".join(f"{name} {budget.in_words(spent)}" for name, spent in report.by_user.items())
        rows.append(("by user", f"{spent_by}; where each of them spent most"))
    if report.pending:
        unfinished = ", ".join(map(str, report.pending))
        rows.append(("unfinished", f"{unfinished}; finish them with `discreet ledger complete {vault.path}`"))
    pairs("budget", rows)


def refreshed_from(given: Sequence[str], tables: Sequence[str]) -> object:
    """What a snapshot is taken of: the source that is given, or some of several; none where none is."""
    if len(tables) > 1:
        return sources_by_name(given)
    if len(given) > 1:
        raise TableError(f"the vault is over one table, {tables[0]}, and {len(given)} sources are given")
    return given[0] if given else None


@command
def refresh(
    vault: VaultPath,
    source: Annotated[
        list[str] | None,
        typer.Option("--table", help="another table with the same columns; of several tables NAME=SOURCE"),
    ] = None,
    live: Annotated[
        bool | None,
        typer.Option("--live/--snapshot", help="read rows live from now on, or from a snapshot; as before if not said"),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="take it whatever the rows hold, and be they those it has; for jobs")
    ] = False,
    accept_loss: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help=f"stop, or ask, where more of the rows would be left out: 0.2, or 20%; {ACCEPTED_LOSS} by default, "
            "and with --again any",
        ),
    ] = None,
    currency: Annotated[
        str | None,
        typer.Option(help="the one that the vault was made with: epsilon, rho, mu or queries; another is refused"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="do not look at how the domain fits the table")] = False,
    readmit: Annotated[bool, typer.Option("--readmit", help="take people back in who were erased")] = False,
    as_json: Json = False,
) -> None:
    """Take a new snapshot of the table as it is now, or of another one. All spending is kept."""
    from discreet.vault.vault import Vault

    opened = Vault.open(vault)
    before, standing = opened.ledger.snapshot, bool(opened.ledger.reserves)

    def take(fitted: Fitted | None) -> "Receipt":
        with waiting(READING, as_json) as told:
            return opened.refresh(
                refreshed_from(source or [], opened.tables),
                live=live,
                unless_same=not again,
                currency=currency,
                progress=told,
                fitted=fitted,
                readmit=readmit,
            )

    if quiet or (opened.ledger.is_live if live is None else live):
        receipt = take(None)
    else:
        accepted = ACCEPTED_LOSS if accept_loss is None and not again else accept_loss
        receipt = _done_if_it_fits(take, accepted, REFRESHING, as_json)
    taken = opened.ledger.snapshot
    number = taken.number if taken else 0
    if as_json:
        same = taken is not None and taken == before
        print_json({"receipt": str(receipt), "table": opened.location, "snapshot": number, "same": same})
        return
    place = escape(opened.location if len(opened.tables) == 1 else ", ".join(opened.tables))
    if taken is not None and taken == before:
        out.print(
            f"{place} has the very rows of snapshot {number}: the vault stays over it, and what was released answers "
            "on.",
            soft_wrap=True,
        )
        out.print("[dim]--again takes it as a new one[/]")
        return
    over = f"{place} as it is now" if opened.ledger.is_live else f"snapshot {number}, of {place}"
    out.print(f"The vault is now over {over}; all spending is kept. Receipt {receipt}", soft_wrap=True)
    if standing:
        out.print(ENDED, soft_wrap=True)


@command
def append(
    vault: VaultPath,
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TABLE",
            help="where the rows are; where the vault's own are if not said; of several tables NAME=SOURCE of each",
        ),
    ] = None,
    through: Annotated[
        str | None,
        typer.Option(metavar="PERIOD", help="close all periods up to this one, 2027-02; the next if not said"),
    ] = None,
    accept_loss: Annotated[
        str,
        typer.Option(metavar="SHARE", help="stop, or ask, where more of the rows would be left out: 0.2, or 20%"),
    ] = ACCEPTED_LOSS,
    quiet: Annotated[bool, typer.Option("--quiet", help="do not look at how the domain fits the table")] = False,
    as_json: Json = False,
) -> None:
    """Take in the rows of the next period of a table that grows. Nothing that was spent or released changes."""
    from discreet.vault.vault import Vault

    opened = Vault.open(vault)

    def take(fitted: Fitted | None) -> "Receipt":
        with waiting(READING, as_json) as told:
            rows = refreshed_from(source or [], opened.tables)
            return opened.append(rows, through=through, progress=told, fitted=fitted)

    receipt = take(None) if quiet else _done_if_it_fits(take, accept_loss, APPENDING, as_json)
    taken, closed = opened.ledger.snapshot, opened.ledger.closed_period
    number = taken.number if taken else 0
    if as_json:
        print_json({"receipt": str(receipt), "snapshot": number, "closed": closed})
        return
    go = "The tables go" if len(opened.tables) > 1 else "The table goes"
    out.print(
        f"{go} up to {closed} now, as snapshot {number}; what was released stays true, and what was spent is as it "
        f"was. Receipt {receipt}",
        soft_wrap=True,
    )
    if opened.ledger.reserves:
        say("Running totals and standing cubes were published to it. `cube publish`, as before, writes the new cubes.")


@command
def erase(
    vault: VaultPath,
    ids: Annotated[
        str, typer.Option(metavar="FILE", help="a file with a column of ids, called as a table's; CSV, Parquet, …")
    ],
    as_json: Json = False,
) -> None:
    """Take people out who ask for it: the vault goes over to its snapshot without them. All spending is kept."""
    from discreet.vault.vault import Vault

    opened = Vault.open(vault)
    standing = bool(opened.ledger.reserves)
    done = opened.erase(ids)
    if as_json:
        print_json(done.to_json())
        return
    out.print(
        f"The vault is now over snapshot {done.snapshot}, without those whom {escape(ids)} names. They are kept out, "
        f"and all spending is kept. Receipt {done.receipt}",
        soft_wrap=True,
    )
    if standing:
        out.print(ENDED, soft_wrap=True)
    out.print("Out of its reach:")
    for each in done.beyond:
        out.print(f"- {escape(each)}", soft_wrap=True)
