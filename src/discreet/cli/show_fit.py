"""How a domain fits a table, on the custodian's terminal: exact numbers, which go nowhere else."""

from rich.console import Console
from rich.markup import escape

from discreet.cli.present import table
from discreet.errors import TableError
from discreet.exact import parse_exact
from discreet.fit import ColumnFit, Fit, in_order

CONFIDENTIAL = "exact and confidential: for you, whose table it is; it is kept nowhere"
MOST_COLUMNS = 40


def show_fit(fit: Fit, to: Console) -> None:
    """Print what becomes of the rows; columns that lose nothing, and whose values all have somebody, are left out."""
    share = f" ({fit.lost / fit.rows:.1%})" if fit.lost else ""
    of = "" if fit.table is None else f"{escape(fit.table)}: "
    to.print(
        f"{of}{fit.rows:,} rows read, {fit.kept:,} kept, {fit.lost:,} lost{share}. [dim]{CONFIDENTIAL}[/]",
        soft_wrap=True,
    )
    known, bound = ("on the roster", "--max-rows")
    if fit.table is not None:
        known, bound = "of a row kept of the table above (parent)", "max_rows"
    for left_out, why in (
        (fit.nameless, f"name nobody: they have no id, or one that is not {known}"),
        (fit.beyond_bound, f"are beyond the rows that are kept of one person ({bound})"),
        (fit.late, "are of periods that were closed before: they were taken then, or are left out"),
        (fit.to_come, "are of periods that are not closed yet: a later append takes them"),
        (fit.erased, "are of people who were erased (--readmit takes them back)"),
    ):
        if left_out:
            to.print(f"{left_out:,} of those fit the domain, and {why}.", soft_wrap=True)
    if fit.alike:
        to.print(
            f"{fit.alike:,} rows have a key that another row has too, and rows of a table below could mean either: "
            "`init` refuses that. Make it unique, or name another key.",
            soft_wrap=True,
        )
    if not fit.rows:
        to.print("The table has no rows: a vault over it would be about nobody.")
        return
    told = [
        column for column in in_order(fit) if column.outside or column.missing or column.unreadable or column.rounded
    ]
    if told:
        heads = ("column", "rows lost", "outside", "missing", "not readable", "rounded", "most frequent outside")
        rows = [_row(column) for column in told[:MOST_COLUMNS]]
        table("", heads, rows, right=heads[1:6], to=to)
    if len(told) > MOST_COLUMNS:
        to.print(f"[dim]and {len(told) - MOST_COLUMNS:,} columns more; --json has all[/]")
    for column in fit.columns:
        for advice in column.advice:
            to.print(f"{escape(column.name)}: {escape(advice)}", soft_wrap=True)
    for column in fit.columns:
        if column.nobody:
            names = ", ".join(column.nobody_has) + (", …" if column.nobody > len(column.nobody_has) else "")
            to.print(
                f"[dim]{escape(column.name)}: nobody has {column.nobody:,} of its values: {escape(names)}[/]",
                soft_wrap=True,
            )
    if told:
        to.print(
            "[dim]Mend a domain from public documents: a value added because a row has it tells of that row.[/]",
            soft_wrap=True,
        )


def _row(column: ColumnFit) -> tuple[str, ...]:
    odd = [f"{one.text!r} {one.rows:,}" + (f" (near {one.nearest!r})" if one.nearest else "") for one in column.odd]
    outside = f"{column.outside:,}" + (f" {column.outside_is}" if column.outside else "")
    missing = f"{column.missing:,}" + (f" {column.missing_is}" if column.missing else "")
    unreadable = f"{column.unreadable:,}" + (f" {column.missing_is}" if column.unreadable else "")
    return column.name, f"{column.lost:,}", outside, missing, unreadable, f"{column.rounded:,}", ", ".join(odd)


def accepted_share(asked: str) -> float:
    """The share that --accept-loss means: 0.2, or 20%. What is above all of it is no share: 20 is none."""
    text = asked.strip()
    try:
        share = float(parse_exact(text[:-1]) / 100 if text.endswith("%") else parse_exact(text))
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise TableError(f"--accept-loss {asked} is no share of the rows: 0.2 or 20%, from 0 to 1, which is any")
    return share
