"""Free answers are remembered for as long as the journal stands still, and only so many of them."""

from discreet.ledger.receipt import Receipt
from discreet.server.free import MOST_ANSWERS, MOST_BYTES, FreeAnswers

HERE, LATER = Receipt(3, b"a" * 32), Receipt(4, b"b" * 32)


def test_an_answer_is_for_the_same_question_at_the_same_entry():
    free = FreeAnswers()
    free.keep("q", HERE, b"7")
    assert free.get("q", HERE) == b"7"
    assert free.get("q", LATER) is None
    assert free.get("other", HERE) is None


def test_the_oldest_gives_way_and_a_long_one_is_not_kept():
    free = FreeAnswers()
    for number in range(MOST_ANSWERS + 1):
        free.keep(str(number), HERE, b"7")
    assert free.get("0", HERE) is None
    assert free.get(str(MOST_ANSWERS), HERE) == b"7"
    free.keep("long", HERE, b"7" * (MOST_BYTES + 1))
    assert free.get("long", HERE) is None
