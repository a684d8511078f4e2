"""Every question of the list is answered rightly, but for those that are known not to be; what must not be is not."""

import shutil
from contextlib import ExitStack

import pytest

from discreet.errors import DiscreetError
from discreet.vault import Vault
from tests.questions.judge import LIBRARIES, Verdict, judge
from tests.questions.listed import ListedQuestion, later_questions, never_answered, questions, unanswered
from tests.questions.tables import SCALE, TABLES, VISITS, table, vault_over
from tests.questions.truth import truth_of
from tests.trust.fuzzing import BUSY_SECONDS, within

FEWEST = 150
"""Questions that the list has at least."""


@pytest.fixture(scope="module")
def vaults(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vaults")
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(folder))
        yield {name: vault_over(name, folder / name) for name in (*TABLES, VISITS)}


@pytest.fixture(scope="module")
def truths(vaults):
    """What each table holds, and so does every copy of its vault: a patient's rows are chosen by the vault's key."""
    with ExitStack() as open_ones:
        yield {name: open_ones.enter_context(truth_of(vault)) for name, vault in vaults.items()}


@pytest.fixture(scope="module")
def templates(vaults, tmp_path_factory):
    """The vaults before anything was asked."""
    folder = tmp_path_factory.mktemp("templates")
    return {name: shutil.copytree(vault.path, folder / name) for name, vault in vaults.items()}


@pytest.mark.parametrize("question", [*questions(), *later_questions()], ids=lambda question: question.name)
def test_a_question_is_answered_rightly_unless_it_is_listed_as_unanswered(
    question: ListedQuestion, templates, truths, tmp_path
):
    vault = Vault.open(shutil.copytree(templates[question.table], tmp_path / "vault"), table=table(question.table))
    judged = judge(question, vault, truths[question.table])
    expected = Verdict.REFUSED if question.name in unanswered() else Verdict.RIGHT
    assert judged.verdict is expected, judged.why


@pytest.mark.parametrize("question", never_answered(), ids=lambda question: question.asks)
def test_what_must_never_be_answered_is_refused_soon_in_words_and_spends_nothing(question: ListedQuestion, vaults):
    vault = vaults[question.table]
    before = vault.ledger.charges
    for verb in (vault.explain, vault.ask):
        with within(BUSY_SECONDS), pytest.raises(DiscreetError) as refusal:
            verb(question.sql, scale=SCALE)
        assert not any(word in str(refusal.value) for word in LIBRARIES), str(refusal.value)
    assert vault.ledger.charges == before


def test_the_list_is_long_and_what_is_not_answered_is_on_it():
    names = [question.name for question in questions()]
    assert len(set(names)) == len(names) >= FEWEST
    names += [question.name for question in later_questions()]
    assert len(set(names)) == len(names)
    assert set(unanswered()) <= set(names)
    assert len(set(unanswered())) == len(unanswered())
    assert all(question.refused for question in never_answered())
