"""Free answers as they were sent, for as long as nothing is added to the journal.

What an answer without a cost says follows from the question and from what is public: the same question, with the same
last entry in the journal, has the same answer.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from discreet.ledger.receipt import Receipt

MOST_ANSWERS = 1024
MOST_BYTES = 1 << 16
"""Answers that are longer than this, in bytes, are not cached: few ask for them twice."""


@dataclass
class FreeAnswers:
    """The bodies of free answers, each with the journal's last receipt when it was made."""

    _sent: "OrderedDict[str, tuple[Receipt, bytes]]" = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, question: str, head: Receipt) -> bytes | None:
        """What was sent for a question, if the journal ends where it did then."""
        found = self._sent.get(question)
        return found[1] if found is not None and found[0] == head else None

    def keep(self, question: str, head: Receipt, body: bytes) -> None:
        """Remember an answer. `head` is the journal's last receipt from before it was made."""
        if len(body) > MOST_BYTES:
            return
        with self._lock:
            self._sent[question] = (head, body)
            self._sent.move_to_end(question)
            while len(self._sent) > MOST_ANSWERS:
                self._sent.popitem(last=False)
