"""discreet buckets publish | check | ask"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from discreet.cli.present import Json, VaultPath, command, out, pairs, print_json, say, table, waiting

if TYPE_CHECKING:
    from discreet.microdata.buckets import Buckets
    from discreet.microdata.estimate import EstimatedRows

app = typer.Typer(help="Microdata in buckets: publish it, verify it, ask it.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="a folder of published buckets", show_default=False)]


@app.command()
@command
def publish(
    vault: VaultPath,
    sensitive: Annotated[str, typer.Option(help="the sensitive attribute", show_default=False)],
    limits: Annotated[str, typer.Option(help="of a value of frequency f: '0.1', 'min(1, 8*f + 0.02)'")],
    folder: Annotated[Path, typer.Option("--out", help="a new folder for the buckets", show_default=False)],
    limit: Annotated[list[str] | None, typer.Option(help="a value's own limit: HIV=0.02; again for others")] = None,
    max_size: Annotated[int, typer.Option(help="the most people in a bucket")] = 50,
    min_size: Annotated[int | None, typer.Option(help="the fewest people in a bucket")] = None,
    sizes: Annotated[str | None, typer.Option(help="optimal, multi, two or one: how many sizes of buckets")] = None,
    fakes: Annotated[int, typer.Option(help="values listed for each bucket that nobody in it has")] = 0,
    columns: Annotated[str | None, typer.Option(help="the people's columns: age,sex; all others by default")] = None,
    similar: Annotated[bool, typer.Option("--similar", help="keep people together who are alike")] = False,
    nulls: Annotated[str, typer.Option(help="where the sensitive value is missing: refuse, or value")] = "refuse",
    force_id: Annotated[bool, typer.Option("--force-id", help="publish a column that tells people apart")] = False,
    again: Annotated[bool, typer.Option("--again", help="publish although it was done before")] = False,
    as_json: Json = False,
) -> None:
    """Publish the rows themselves, in buckets. Spends nothing, and is not differential privacy."""
    from discreet.microdata.limits import Limits
    from discreet.vault.vault import Vault

    chosen: dict[str, Any] = {"sizes": sizes, "nulls": nulls}  # checked where they are used
    with waiting("opening", as_json) as told:
        opened = Vault.open(vault)
        buckets = opened.buckets.publish(
            sensitive=sensitive,
            limits=Limits.parse(limits, limit or ()),
            out=folder,
            max_size=max_size,
            min_size=min_size,
            fakes=fakes,
            columns=None if columns is None else [name.strip() for name in columns.split(",")],
            similar=similar,
            force_id=force_id,
            again=again,
            progress=told,
            **chosen,
        )
    if as_json:
        print_json({**buckets.describe(), "folder": str(folder)})
        return
    show_buckets(buckets)
    out.print(f"[dim]Next:[/] discreet buckets check {escape(str(folder))}", soft_wrap=True)


@app.command()
@command
def check(folder: Folder, as_json: Json = False) -> None:
    """Verify a folder of buckets, from its files alone. Exit code 1 where something does not hold."""
    from discreet.microdata.check import check_buckets

    with waiting("checking", as_json):
        verdict = check_buckets(folder)
    if as_json:
        print_json(verdict)
    else:
        rows = [(finding.what, "holds" if finding.holds else "BROKEN", finding.detail) for finding in verdict.findings]
        table("", ("what", "", "found"), rows, tight=("what", ""))
        words = "[bold green]Everything holds.[/]" if verdict.holds else "[bold red]Do not rely on these buckets.[/]"
        out.print(words)
    if not verdict.holds:
        raise typer.Exit(1)


@app.command()
@command
def ask(
    folder: Folder,
    sql: Annotated[str, typer.Argument(help="a SELECT COUNT(*) over the published columns", show_default=False)],
    pairings: Annotated[float, typer.Option(help="the share of pairings within buckets that a range holds")] = 0.95,
    as_json: Json = False,
) -> None:
    """Estimate counts from the two tables. Public, and free."""
    from discreet.microdata.buckets import Buckets

    answer = Buckets.load(folder).ask(sql, pairings)
    if as_json:
        print_json(answer)
    else:
        _show_answer(answer)


def show_buckets(buckets: "Buckets") -> None:
    """What was published, what it promises, and what it gives away."""
    about = buckets.describe()
    sizes = ", ".join(f"{number:,} of {size}" for size, number in buckets.sizes)
    rows: list[tuple[str, object]] = [
        ("guarantee", about["guarantee"]),
        ("limits", _limits_words(buckets)),
        ("buckets", sizes),
        ("loss", f"{buckets.loss:,} (MSE {buckets.mse:.4g})"),
        *([("least", f"{buckets.least:,} are lost with any sizes that were allowed")] if buckets.least else []),
        ("receipt", about["receipt"]),
    ]
    if buckets.fakes:
        rows.insert(3, ("fakes", _fakes_words(buckets)))
    pairs(f"{about['table']}: {about['records']:,} rows, {buckets.sensitive} apart", rows)
    for line in about["public"]:
        out.print(f"• {escape(line)}", soft_wrap=True)
    _show_residuals(buckets)


def _limits_words(buckets: "Buckets") -> str:
    rule = buckets.about["limits"]
    return ", ".join([str(rule["limits"]), *(f"{value} {limit}" for value, limit in rule["own"].items())])


def _fakes_words(buckets: "Buckets") -> str:
    shown, excludable = buckets.about["fakes_shown"], buckets.about["fakes_excludable"]
    total = sum(number for _, number in buckets.sizes)
    return (
        f"{buckets.fakes} in each bucket; {excludable:,} of {buckets.fakes * total:,} go against an association of "
        f"somebody in the bucket, and in {shown:,} of {total:,} buckets nothing else is listed once: there they show"
    )


def _show_residuals(buckets: "Buckets") -> None:
    """Who knows some people of a bucket, and what a kept order gives away."""
    columns = ("people known in a bucket", "strongest belief", "if values differ", "limits passed")
    rows = [
        (
            step["known"],
            f"{step['most']:.1%}",
            f"{step['if_distinct']:.1%}",
            f"{step['above']:,} of {step['pairs']:,}",
        )
        for step in buckets.about["corruption"]
    ]
    table("", columns, rows, right=columns)
    learnt = buckets.about["learnt"]
    if learnt is not None:
        out.print(
            f"[yellow]People who are alike share buckets.[/] Guessed right, of {learnt['people']:,} people: "
            f"{learnt['blind']:.1%} blindly, {learnt['order']:.1%} by the order in a bucket, "
            f"{learnt['definetti']:.1%} by a learner that sees all buckets.",
            soft_wrap=True,
        )


def _show_answer(answer: "EstimatedRows") -> None:
    from discreet.microdata.estimate import Estimated

    margin = f"{100 * answer.pairings:.6g}% of pairings"
    headers: list[str] = []
    numbers = [place for place, cell in enumerate(answer.rows[0]) if isinstance(cell, Estimated)] if answer.rows else []
    for place, name in enumerate(answer.columns):
        headers += [name, margin] if place in numbers else [name]
    lines = []
    for row in answer.rows:
        cells: list[str] = []
        for cell in row:
            if isinstance(cell, Estimated):
                low, high = cell.range(answer.pairings)
                cells += [f"{cell.value:,.1f}", f"{low:,.1f} … {high:,.1f}"]
            else:
                cells.append(cell)
        lines.append(cells)
    table(
        "", headers, lines, right=[name for name in headers if name == margin or name in answer.columns], tight=headers
    )
    for note in answer.notes:
        say(note)
    say(f"{answer.caveat}. {answer.guarantee}")
