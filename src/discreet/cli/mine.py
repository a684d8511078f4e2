"""discreet mine implies | functions | learn"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.present import Json, command, out, pairs, print_json, say, table, waiting
from discreet.errors import PartyError

if TYPE_CHECKING:
    from discreet.mining.estimate import IntervalEstimate
    from discreet.mining.functions import Functions
    from discreet.mining.implication import Implication, Needed
    from discreet.mining.learn import Learnt
    from discreet.mining.party import Party

app = typer.Typer(
    help="Learn across parties that never join their data, and from published statistics.", no_args_is_help=True
)

Place = Annotated[str, typer.Argument(help="a party: the address of a server, or a vault's directory")]
Predicate = Annotated[str, typer.Argument(help="a condition on that party's columns: 'smoker AND age > 50'")]
Error = Annotated[float, typer.Option(help="within what it is to be known; it decides how many queries are asked")]
Queries = Annotated[int | None, typer.Option(help="instead of --error: ask each party exactly so many queries")]
Confidence = Annotated[float, typer.Option(help="how surely the intervals hold")]
Token = Annotated[
    list[str] | None,
    typer.Option(
        envvar="DISCREET_TOKENS",
        help="a server's token, or @FILE of them; one for all parties, or one for each, in order",
    ),
]
OnlyPlan = Annotated[bool, typer.Option("--plan", help="only say how many queries it would take; asks none")]


@app.command()
@command
def implies(
    first: Place,
    alpha: Predicate,
    second: Place,
    beta: Predicate,
    error: Error = 0.05,
    queries: Queries = None,
    confidence: Confidence = 0.95,
    method: Annotated[str, typer.Option(help="regression, or paper: the seed's test and search, far dearer")] = (
        "regression"
    ),
    token: Token = None,
    plan: OnlyPlan = False,
    as_json: Json = False,
) -> None:
    """Find how much likelier the second predicate is where the first holds: Pr[β|α] = Pr[β] + Δ."""
    from discreet.mining.implication import implication, queries_needed

    parties = _parties([first, second], token)
    if plan:
        methods = [
            queries_needed(*parties, error=error, confidence=confidence, method=one) for one in ("regression", "paper")
        ]
        _show_needed(methods, parties, as_json)
        return
    with waiting("asking", as_json) as told:
        found = implication(
            (parties[0], alpha),
            (parties[1], beta),
            error=error,
            confidence=confidence,
            method=method,  # type: ignore[arg-type]
            queries=queries,
            progress=told,
        )
    left = [party.queries_left for party in parties]
    if as_json:
        print_json({**found.to_json(), "queries_left": left})
    else:
        _show_implication(found, left)


@app.command()
@command
def functions(
    attributes: Annotated[
        list[str], typer.Argument(metavar="PARTY PREDICATE PARTY PREDICATE …", help="two or more, each with its party")
    ],
    error: Error = 0.05,
    queries: Queries = None,
    confidence: Confidence = 0.95,
    token: Token = None,
    as_json: Json = False,
) -> None:
    """Find the probability of all 16 Boolean functions of two predicates; of more than two, pair by pair."""
    from discreet.mining.functions import functions as mine

    if len(attributes) % 2:
        raise PartyError("each party is followed by its predicate: http://localhost:8801 'smoker AND age > 50' …")
    parties = _parties(attributes[::2], token)
    with waiting("asking", as_json) as told:
        found = mine(
            *zip(parties, attributes[1::2], strict=True),
            error=error,
            queries=queries,
            confidence=confidence,
            progress=told,
        )
    left = [party.queries_left for party in parties]
    if as_json:
        print_json({"pairs": [pair.to_json() for pair in found], "queries_left": left})
        return
    for pair in found:
        _show_functions(pair)
    _show_spent([pair.queries for pair in found][:1], left, [g for pair in found for g in pair.guarantees])


@app.command()
@command
def learn(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="published statistics", show_default=False)],
    function: Annotated[str, typer.Argument(help="a Boolean function of its attributes: 'a AND (b OR NOT c)'")],
    confidence: Confidence = 0.95,
    as_json: Json = False,
) -> None:
    """Learn how many people meet a Boolean function, from published statistics alone. Free."""
    from discreet.mining.learn import learn as learn_from
    from discreet.mining.statistics import Statistics

    found = learn_from(Statistics.load(folder), function, confidence=confidence)
    if as_json:
        print_json(found)
    else:
        _show_learnt(found)


def _read_tokens(given: str) -> list[str]:
    """A token, or those in a file, a line each: what stands on a command line is in the list of processes."""
    if not given.startswith("@"):
        return [given]
    try:
        return Path(given[1:]).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        raise PartyError(f"{given[1:]} cannot be read; it has a token on each line") from None


def _parties(places: Sequence[str], tokens: list[str] | None) -> "list[Party]":
    """The parties at these places; one token does for all of them."""
    from discreet.mining.parties import party_of

    given: list[str | None] = [one for token in tokens for one in _read_tokens(token)] if tokens else [None]
    if len(given) not in (1, len(places)):
        raise PartyError(f"give --token once, or {len(places)} times: one for each party, in their order")
    each = given * len(places) if len(given) == 1 else given
    found: dict[str, Party] = {}
    for place, token in zip(places, each, strict=True):
        if place not in found:
            found[place] = party_of(place, token) if "://" in place else _vault_at(place)
    return [found[place] for place in places]


def _vault_at(path: str) -> "Party":
    from discreet.vault.vault import Vault

    return Vault.open(path).party()


def _row(name: str, estimate: "IntervalEstimate", *more: object) -> tuple[object, ...]:
    return name, *more, f"{estimate.value:.4f}", f"{estimate.low:.4f} … {estimate.high:.4f}"


def _show_implication(found: "Implication", left: list[int]) -> None:
    pairs("", [("α", found.alpha), ("β", found.beta)])
    rows = [
        _row("Pr[α]", found.share_alpha),
        _row("Pr[β]", found.share_beta),
        _row("Pr[β|α]", found.conditional),
        _row("Δ = Pr[β|α] − Pr[β]", found.gap),
    ]
    table("", ("", "share", f"at {found.confidence:.0%}"), rows, right=("share",), tight=("",))
    out.print(f"[bold]{_verdict(found)}[/]", soft_wrap=True)
    _show_notes(found.notes)
    _show_spent([found.queries_alpha, found.queries_beta], left, found.guarantees)


def _verdict(found: "Implication") -> str:
    if found.gap.low > 0:
        return f"α makes β likelier, by {found.gap.low:.2f} at least."
    if found.gap.high < 0:
        return f"α makes β less likely, by {-found.gap.high:.2f} at least."
    return "Whether α makes β likelier or less likely cannot be told from this."


def _show_functions(found: "Functions") -> None:
    pairs("", [("a", found.alpha), ("b", found.beta)])
    rows = [_row(name, estimate) for name, estimate in found.probabilities.items()]
    rows.append(_row("b given a", found.conditional))
    table("", ("function", "probability", f"at {found.confidence:.0%}"), rows, right=("probability",))
    _show_notes(found.notes)


def _show_notes(notes: Sequence[str]) -> None:
    for note in notes:
        say(note, style="")


def _show_spent(queries: list[int], left: list[int], guarantees: Sequence[str]) -> None:
    asked = " and ".join(f"{count:,}" for count in dict.fromkeys(queries))
    out.print(f"{asked} queries to each party; {' and '.join(f'{count:,}' for count in left)} are left.")
    for guarantee in dict.fromkeys(guarantees):
        say(guarantee)


def _show_needed(needed: "list[Needed]", parties: "list[Party]", as_json: bool) -> None:
    left = [party.queries_left for party in parties]
    if as_json:
        print_json({"plans": [one.to_json() for one in needed], "queries_left": left})
        return
    rows: list[tuple[Any, ...]] = [(one.method, f"{one.queries_alpha:,}", f"{one.queries_beta:,}") for one in needed]
    rows.append(("left", *(f"{count:,}" for count in left)))
    out.print(
        f"[bold]Queries for Δ within ±{needed[0].error:g} at {needed[0].confidence:.0%}[/], if half have α, half β"
    )
    table("", ("method", "of the first", "of the second"), rows, right=("of the first", "of the second"))


def _show_learnt(found: "Learnt") -> None:
    rows = [_row(found.function, found.probability)]
    table("", ("function", "probability", f"at {found.confidence:.0%}"), rows, right=("probability",))
    low, high = (found.people * bound for bound in (found.probability.low, found.probability.high))
    out.print(f"That is {low:,.0f} … {high:,.0f} of {found.people:,} people.")
    say(found.guarantee)
