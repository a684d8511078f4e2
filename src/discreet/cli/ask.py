"""discreet ask"""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.present import Json, VaultPath, command, pairs, print_json, say, table, waiting
from discreet.errors import UnsupportedQuery

if TYPE_CHECKING:
    from discreet.answer.reply import Answer, Explanation, Forecast


class EstimateChoice(StrEnum):
    unbiased = "unbiased"
    modelled = "modelled"


class Relax(StrEnum):
    on = "on"
    off = "off"


@command
def ask(
    vault: VaultPath,
    sql: Annotated[str, typer.Argument(help="a SELECT over the vault's table, or one of several", show_default=False)],
    scale: Annotated[str | None, typer.Option(help="the scale of the noise, in people")] = None,
    within: Annotated[str | None, typer.Option(help="how far off each number may be, instead of a scale")] = None,
    confidence: Annotated[str | None, typer.Option(help="how surely: 0.95 by default")] = None,
    relax: Annotated[
        Relax | None,
        typer.Option(help="whether a region without budget is answered by one nearby; as the policy says by default"),
    ] = None,
    weight: Annotated[
        list[str] | None, typer.Option(help="how much it matters that a relaxed answer is off in an attribute: age=4")
    ] = None,
    compound_size: Annotated[
        int | None, typer.Option(help="of how many released answers a relaxed one may be made")
    ] = None,
    estimate: Annotated[
        EstimateChoice,
        typer.Option(help="modelled: from the model of everything public: free, sharper and biased"),
    ] = EstimateChoice.unbiased,
    explain: Annotated[bool, typer.Option("--explain", help="show cost and expected error; spend nothing")] = False,
    shrunken: Annotated[
        bool, typer.Option("--shrunken", help="beside the counts of a long GROUP BY, show the shrunken ones")
    ] = False,
    save: Annotated[Path | None, typer.Option("--out", help="write the answer to a CSV file as well")] = None,
    as_json: Json = False,
) -> None:
    """Ask a question in SQL. It is answered from what is public where that is good enough, else measured with noise."""
    from discreet.home import declared_tables
    from discreet.sql.split import read_over
    from discreet.sql.tables import tables_asked

    # A question that cannot be read is refused before the journal is, and before anything that answers is imported;
    # but for one that may be about look-up tables, which the journal names.
    if not (vault / "lookups").is_dir():
        asked, text = tables_asked(sql, declared_tables(vault))
        read_over(text, [table.domain for table in asked])
    from discreet.vault.vault import Vault

    if explain:
        told = Vault.open(vault).explain(
            sql,
            scale=scale,
            within=within,
            confidence=confidence,
            relax=None if relax is None else relax is Relax.on,
            weights=dict(map(_weight, weight or ())),
            compound_size=compound_size,
            estimate=estimate.value,
        )
        if as_json:
            print_json(told)
        else:
            _show_explanation(told)
        return
    with waiting("answering", as_json):
        opened = Vault.open(vault)
        answer = opened.ask(
            sql,
            scale=scale,
            within=within,
            confidence=confidence,
            relax=None if relax is None else relax is Relax.on,
            weights=dict(map(_weight, weight or ())),
            compound_size=compound_size,
            estimate=estimate.value,
        )
    if save is not None:
        answer.save_csv(save, shrunken)
    if as_json:
        print_json(answer)
    else:
        show_answer(answer, shrunken)


def _weight(text: str) -> tuple[str, str]:
    name, _, weight = text.rpartition("=")
    if not name:
        raise UnsupportedQuery(f"a weight looks like age=4, not {text!r:.40}")
    return name.strip(), weight


def show_answer(answer: "Answer", shrunken: bool = False) -> None:
    """Print an answer as a table, with what a reader must know under it."""
    from discreet.answer.view import ANSWERED_FOR, MOST_PRINTED, more_lines

    shown, hidden = answer.first(MOST_PRINTED)
    headers, lines = shown.table(shrunken)
    table("", headers, lines, right=answer.columns, tight=[header for header in headers if header != ANSWERED_FOR])
    for note in (*more_lines(hidden, "--out FILE writes all of them, --json prints them"), *shown.footnotes()):
        say(note)


def _error_text(forecast: "Forecast") -> str:
    if forecast.halfwidth is None:
        return "–"
    relative = "" if forecast.relative is None else f" ({_part_text(forecast.relative)} of it)"
    return f"± {forecast.halfwidth:,.6g}{relative}"


def _part_text(part: float) -> str:
    return "less than 1%" if part < 0.005 else f"about {part:.0%}"


def _more_text(explanation: "Explanation") -> str:
    if explanation.more is None:
        return "any number: it is free"
    if not explanation.is_exact:  # the most that one can cost is known, and whether it is as sharp as asked is not
        return f"{explanation.more:,} or more"
    return f"{explanation.more:,} at this accuracy" if explanation.more else "none at this accuracy"


def _show_explanation(explanation: "Explanation") -> None:
    from discreet.answer.view import number

    rows = [
        (
            forecast.column,
            ", ".join(f"{kind} × {count}" if count > 1 else kind for kind, count in forecast.kinds.items()),
            _error_text(forecast),
            f"{number(forecast.scale)} {forecast.unit}",
        )
        for forecast in explanation.forecasts
    ]
    error = f"error at {float(explanation.confidence):.0%}"
    if rows:
        table("", ("column", "answered by", error, "scale"), rows, right=(error, "scale"))
    pairs(
        "",
        [
            (
                "cost",
                f"{'' if explanation.is_exact else 'at most '}{explanation.budget.in_words(explanation.cost)}",
            ),
            ("left", f"{explanation.budget.in_words(explanation.left)}, in its region"),
            ("such questions", _more_text(explanation)),
            *(("note", note) for note in explanation.notes),
        ],
    )
