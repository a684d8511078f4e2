"""discreet audit attack"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.present import Json, command, out, pairs, print_json, table, waiting
from discreet.errors import UnsupportedQuery

if TYPE_CHECKING:
    from discreet.audit.corruption import CorruptionAttack
    from discreet.audit.definetti import DeFinettiAttack
    from discreet.audit.inference import InferenceAttack
    from discreet.audit.negative import NegativeAttack

app = typer.Typer(help="Try out what an adversary could conclude from what is public.", no_args_is_help=True)

KINDS = ("corruption", "negative", "definetti", "inference")
MOST_RULES = 20


@app.callback()
def audit() -> None:
    """Try out what an adversary could conclude from what is public."""


@app.command()
@command
def attack(
    target: Annotated[Path, typer.Argument(help="a folder of buckets; a vault for inference", show_default=False)],
    kind: Annotated[str, typer.Option(help=", ".join(KINDS), show_default=False)],
    known: Annotated[int, typer.Option(help="for corruption: how many people of a bucket somebody knows")] = 1,
    sensitive: Annotated[str | None, typer.Option(help="for inference: the attribute that rules conclude")] = None,
    threshold: Annotated[float, typer.Option(help="for inference: the share from which a rule is a warning")] = 0.5,
    confidence: Annotated[float, typer.Option(help="for inference: how surely intervals hold")] = 0.95,
    plot: Annotated[Path | None, typer.Option(help="draw the result to this file")] = None,
    as_json: Json = False,
) -> None:
    """Attack published buckets, or a vault's own answers, with what is public. Reads no rows, and spends nothing."""
    with waiting("attacking", as_json):
        found = _attack(target, kind, known, sensitive, threshold, confidence)
        if plot is not None:
            found.plot(plot)
    if as_json:
        print_json({**found.to_json(), "warns": found.warns})
        return
    _show(found)
    out.print("[bold yellow]Warning: see above.[/]" if found.warns else "[green]Nothing to warn of.[/]")


def _attack(
    target: Path, kind: str, known: int, sensitive: str | None, threshold: float, confidence: float
) -> "CorruptionAttack | NegativeAttack | DeFinettiAttack | InferenceAttack":
    from discreet.microdata.buckets import Buckets

    match kind:
        case "corruption":
            from discreet.audit.corruption import attack_by_corruption

            return attack_by_corruption(Buckets.load(target), known)
        case "negative":
            from discreet.audit.negative import attack_by_exclusion

            return attack_by_exclusion(Buckets.load(target))
        case "definetti":
            from discreet.audit.definetti import attack_by_learning

            return attack_by_learning(Buckets.load(target))
        case "inference":
            from discreet.audit.inference import attack_by_inference
            from discreet.vault import Vault

            vault = Vault.open(target)
            current = (release for release in vault.releases() if release.charge > vault.ledger.refreshed)
            return attack_by_inference(current, vault.domain, sensitive, threshold, confidence)
    raise UnsupportedQuery(f"there is no attack {kind!r}; there are {', '.join(KINDS)}")


def _show(found: "CorruptionAttack | NegativeAttack | DeFinettiAttack | InferenceAttack") -> None:
    from discreet.audit.corruption import CorruptionAttack
    from discreet.audit.definetti import DeFinettiAttack
    from discreet.audit.negative import NegativeAttack

    if isinstance(found, CorruptionAttack):
        _show_corruption(found)
    elif isinstance(found, NegativeAttack):
        _show_negative(found)
    elif isinstance(found, DeFinettiAttack):
        _show_definetti(found)
    else:
        _show_inference(found)


def _show_corruption(found: "CorruptionAttack") -> None:
    columns = ("people known", "strongest belief", "if values differ", "limits passed")
    rows = [
        (step.known, f"{step.most:.1%}", f"{step.if_distinct:.1%}", f"{step.above:,} of {step.pairs:,}")
        for step in found.steps
    ]
    table("", columns, rows, right=columns)
    out.print()
    worst = [(value, f"{limit:.1%}", f"{belief:.1%}") for value, limit, belief in found.worst]
    table("", ("value", "limit", f"belief, {found.steps[-1].known} known"), worst, right=("limit",))


def _show_negative(found: "NegativeAttack") -> None:
    rows = [(f"{e.column} = {e.label}", e.value, f"{e.rate:.1%}", f"{e.at_most:.1%}") for e in found.strongest]
    if rows:
        table("", ("people with", "hardly have", "as often as others", "at most"), rows)
        out.print()
    pairs(
        "",
        [
            ("associations", f"{found.exclusions:,}"),
            ("people touched", f"{found.touched:,} of {found.people:,}"),
            ("limits passed", f"for {found.above:,} people"),
            ("strongest belief", f"{found.most:.3g} times its limit"),
        ],
    )


def _show_definetti(found: "DeFinettiAttack") -> None:
    pairs(
        "",
        [
            ("people", f"{found.people:,}"),
            (
                "mean belief in the likeliest value",
                f"{found.blind:.1%} from one bucket, {found.learnt:.1%} after learning",
            ),
            ("limits passed", f"for {found.above:,} people"),
            ("strongest belief", f"{found.most:.3g} times its limit"),
        ],
    )
    out.print(
        "[dim]Beliefs of a learner, which may be wrong: nobody who holds only the tables knows.[/]", soft_wrap=True
    )


def _show_inference(found: "InferenceAttack") -> None:
    columns = ("group", "value", "X", "Y", "share", f"at {100 * found.confidence:.6g}%")
    rows = [
        (
            *found.words(rule),
            f"{rule.x:,.0f}",
            f"{rule.y:,.0f}",
            f"{rule.share:.1%}",
            f"{rule.interval[0]:.1%} … {rule.interval[1]:.1%}",
        )
        for rule in found.rules[:MOST_RULES]
    ]
    if rows:
        table("", columns, rows, right=columns[2:])
    if len(found.rules) > MOST_RULES:
        out.print(f"[dim]and {len(found.rules) - MOST_RULES:,} weaker ones: --json prints all[/]")
    pairs(
        "",
        [
            ("released numbers", f"{found.cells:,}"),
            ("rules", f"{len(found.rules):,}, {len(found.above):,} of them surely above {found.threshold:.0%}"),
        ],
    )
