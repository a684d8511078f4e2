"""discreet audit attack"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from rich.markup import escape

from discreet.cli.present import Json, command, out, pairs, print_json, table, waiting
from discreet.errors import UnsupportedQuery
from discreet.progress import Progress

if TYPE_CHECKING:
    from discreet.attacks.corruption import CorruptionAttack
    from discreet.attacks.definetti import DeFinettiAttack
    from discreet.attacks.guesses import BitAttack
    from discreet.attacks.inference import InferenceAttack
    from discreet.attacks.negative import NegativeAttack

    Attack: TypeAlias = CorruptionAttack | NegativeAttack | DeFinettiAttack | InferenceAttack | BitAttack

OF_BUCKETS = ("corruption", "negative", "definetti")
ON_A_COPY = ("averaging", "differencing", "reconstruction", "membership")
OF_A_VAULT = (*ON_A_COPY, "inference")
KINDS = (*OF_BUCKETS, *OF_A_VAULT)
MOST_RULES = 20
WARNING = "[bold yellow]Warning: see above.[/]"


@command
def attack(
    target: Annotated[
        Path,
        typer.Argument(help=f"a vault; for {', '.join(OF_BUCKETS)} a folder of buckets", show_default=False),
    ],
    kind: Annotated[str, typer.Option(help=", ".join(KINDS), show_default=False)],
    trials: Annotated[
        int | None,
        typer.Option(help="for averaging, differencing, reconstruction, membership: about how many people to make up"),
    ] = None,
    known: Annotated[int, typer.Option(help="for corruption: how many people of a bucket somebody knows")] = 1,
    sensitive: Annotated[str | None, typer.Option(help="for inference: the attribute that rules conclude")] = None,
    threshold: Annotated[float, typer.Option(help="for inference: the share from which a rule is a warning")] = 0.5,
    confidence: Annotated[float, typer.Option(help="on a vault: how surely intervals hold")] = 0.95,
    plot: Annotated[Path | None, typer.Option(help="draw the result to this file")] = None,
    as_json: Json = False,
) -> None:
    """Attack a vault's own promise, its answers, or published buckets. Reads no rows, and spends nothing."""
    _require_target(target, kind)
    with waiting("attacking", as_json) as progress:
        if kind in ON_A_COPY:
            found: Attack = _attack_copy(target, kind, trials, confidence, progress)
        else:
            found = _attack(target, kind, known, sensitive, threshold, confidence)
        if plot is not None:
            found.plot(plot)
    broken = found.warns and kind in ON_A_COPY
    if as_json:
        print_json({**found.to_json(), "warns": found.warns})
    else:
        _show(found)
        warning = "[bold red]The vault tells more than it promises.[/]" if broken else WARNING
        out.print(warning if found.warns else "[green]Nothing to warn of.[/]")
    if broken:
        raise typer.Exit(1)


def _require_target(target: Path, kind: str) -> None:
    """Say it where a vault is given for buckets, or buckets for a vault."""
    from discreet.private import SETTINGS
    from discreet.release.package import PACKAGE

    if kind not in KINDS:
        raise UnsupportedQuery(f"there is no attack {kind!r}; there are {', '.join(KINDS)}")
    if kind in OF_BUCKETS and (target / SETTINGS).is_file():
        raise UnsupportedQuery(
            f"{target} is a vault, and {kind} attacks published buckets: give the folder that `discreet buckets "
            "publish` has written (--out)"
        )
    if kind in OF_A_VAULT and (target / PACKAGE).is_file():
        raise UnsupportedQuery(f"{target} is a published folder, and {kind} attacks a vault; give its directory")


def _attack_copy(target: Path, kind: str, trials: int | None, confidence: float, progress: Progress) -> "BitAttack":
    from importlib import import_module

    from discreet.vault.vault import Vault

    run = getattr(import_module(f"discreet.attacks.{kind}"), f"attack_by_{kind}")
    wanted = {} if trials is None else {"trials": trials}
    found: BitAttack = run(Vault.open(target), confidence=confidence, progress=progress, **wanted)
    return found


def _attack(
    target: Path, kind: str, known: int, sensitive: str | None, threshold: float, confidence: float
) -> "Attack":
    from discreet.microdata.buckets import Buckets

    match kind:
        case "corruption":
            from discreet.attacks.corruption import attack_by_corruption

            return attack_by_corruption(Buckets.load(target), known)
        case "negative":
            from discreet.attacks.negative import attack_by_exclusion

            return attack_by_exclusion(Buckets.load(target))
        case "definetti":
            from discreet.attacks.definetti import attack_by_learning

            return attack_by_learning(Buckets.load(target))
    from discreet.attacks.inference import attack_by_inference
    from discreet.attacks.stand_in import require_sql
    from discreet.vault.vault import Vault

    vault = Vault.open(target)
    require_sql(vault)
    current = (release for release in vault.releases() if release.charge > vault.ledger.refreshed)
    return attack_by_inference(current, vault.domain, sensitive, threshold, confidence)


def _show(found: "Attack") -> None:
    from discreet.attacks.corruption import CorruptionAttack
    from discreet.attacks.definetti import DeFinettiAttack
    from discreet.attacks.guesses import BitAttack
    from discreet.attacks.negative import NegativeAttack

    if isinstance(found, CorruptionAttack):
        _show_corruption(found)
    elif isinstance(found, NegativeAttack):
        _show_negative(found)
    elif isinstance(found, DeFinettiAttack):
        _show_definetti(found)
    elif isinstance(found, BitAttack):
        _show_bits(found)
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
            ("associations", f"{found.exclusions:,}, of which {found.by_chance:.2g} by chance on average, at most"),
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
            (
                "rules",
                f"{len(found.rules):,}, {len(found.above):,} of them above {found.threshold:.0%} at "
                f"{100 * found.confidence:.6g}%, each by itself",
            ),
        ],
    )


def _show_bits(found: "BitAttack") -> None:
    out.print(
        f"[bold]{found.kind.capitalize()}[/], on a copy of this vault's promise and policy, unspent, over "
        f"{found.people:,} made-up people: no row of its table was read.\n"
        f"An attacker who knows everything else guesses {escape(found.bit)}.",
        soft_wrap=True,
    )
    out.print()
    columns = ("answers", "questions", "right", "advantage", f"at {100 * found.confidence:.6g}%")
    rows = []
    for attempt in found.attempts:
        guesses, (low, high) = attempt.guesses, attempt.guesses.interval(found.confidence)
        share, advantage = f"{guesses.right / guesses.of:.1%}", f"{guesses.advantage:.2f}"
        rows.append((attempt.against, f"{attempt.questions:,}", share, advantage, f"{low:.2f} … {high:.2f}"))
    table("", columns, rows, right=columns[1:], tight=columns[1:])
    out.print()
    pairs(
        "",
        [
            ("advantage allowed", f"{found.bound:.4g}, by {found.guarantee}"),
            ("the copy spent", f"{found.spent:.0%} of its budget, and answered {_kinds(found)}"),
        ],
    )
    out.print(
        "[dim]An advantage is a warning where it is surely above what is allowed, at 1 − 10^-5; less may be chance.[/]",
        soft_wrap=True,
    )


def _kinds(found: "BitAttack") -> str:
    """How the numbers came about that the copy answered with."""
    counted: dict[str, int] = {}
    for attempt in found.attempts:
        for kind, number in attempt.answers.items():
            counted[kind] = counted.get(kind, 0) + number
    return ", ".join(f"{number:,} {kind}" for kind, number in counted.items())
