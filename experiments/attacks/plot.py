"""Numbers next to the docs: a CSV file and a picture for each attack."""

from discreet.attacks.guesses import BitAttack
from experiments.page import Page

PAGE = Page("attacks")
save, write_rows = PAGE.save, PAGE.write_rows

HEADER = ("vault", "attack", "answers", "questions", "right", "of", "advantage", "low", "high", "allowed")


def rows_of(vault: str, found: BitAttack) -> list[tuple[object, ...]]:
    """A line for each attempt of an attack."""
    return [
        (
            vault,
            found.kind,
            attempt.against,
            attempt.questions,
            attempt.guesses.right,
            attempt.guesses.of,
            *(f"{end:.4f}" for end in (attempt.guesses.advantage, *attempt.guesses.interval(found.confidence))),
            f"{found.bound:.4f}",
        )
        for attempt in found.attempts
    ]


def keep(vault: str, found: BitAttack) -> None:
    """The attack's own picture and numbers."""
    save(found.picture(), found.kind)
    write_rows(found.kind, HEADER, rows_of(vault, found))
