"""The list of questions in tests/fixtures/sql/questions: how many are answered, and rightly, by theme."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure
from bench.foundation import state_home
from discreet.errors import DiscreetError
from tests.questions.judge import Verdict, judge_anew
from tests.questions.listed import LATER_TITLE, THEMES, later_questions, never_answered, questions
from tests.questions.tables import SCALE, TABLES, vault_over

ANSWERED_BAR = 97.0
"""Per cent of the list, as the issue of whole SQL promises."""


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, state_home(folder):
        judged = [judge_anew(question, Path(folder, str(number))) for number, question in enumerate(questions())]
        later = [judge_anew(question, Path(folder, f"later{n}")) for n, question in enumerate(later_questions())]
        refused = _refused(Path(folder))
    right = Counter(one.question.theme for one in judged if one.verdict is Verdict.RIGHT)
    wrong = [one.question.name for one in judged if one.verdict is Verdict.WRONG]
    listed = Counter(one.question.theme for one in judged)
    by_theme = "; ".join(f"{title} {right[theme]} of {listed[theme]}" for theme, title in THEMES.items())
    share = 100 * right.total() / listed.total()
    yield Figure("questions answered and right", share, ANSWERED_BAR, "higher", "%", f"of {listed.total()}: {by_theme}")
    yield Figure("questions answered wrongly", len(wrong), 0, "lower", "questions", "; ".join(wrong))
    verdicts = Counter(one.verdict for one in later)
    wrong = [one.question.name for one in later if one.verdict is Verdict.WRONG]
    answered = (
        f"{verdicts[Verdict.RIGHT]} of {len(later)} answered and right, {verdicts[Verdict.REFUSED]} refused in words"
    )
    yield Figure(f"{LATER_TITLE}, answered wrongly", len(wrong), 0, "lower", "questions", "; ".join([answered, *wrong]))
    never = len(never_answered())
    yield Figure("what must be refused, refused", refused, never, "higher", "statements", "and nothing was spent")


def _refused(folder: Path) -> int:
    """How many statements that must never be answered are refused without spending."""
    vaults = {name: vault_over(name, folder / name) for name in TABLES}
    found = 0
    for question in never_answered():
        vault = vaults[question.table]
        before = vault.ledger.charges
        try:
            vault.ask(question.sql, scale=SCALE)
        except DiscreetError:
            found += vault.ledger.charges == before
    return found
