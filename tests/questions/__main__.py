"""Judge the list, or the questions whose names hold some words: `python -m tests.questions [--keep] [WORD …]`.

Prints what became of each. `--keep` writes unanswered.txt anew: of the whole list only.
"""

import os
import sys
import tempfile
from pathlib import Path

from tests.questions.judge import Judged, Verdict, judge_anew
from tests.questions.listed import UNANSWERED, later_questions, questions


def main(*words: str) -> int:
    wanted = [word.lower() for word in words if word != "--keep"]
    judged = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        for number, question in enumerate((*questions(), *later_questions())):
            if all(word in question.name.lower() for word in wanted):
                judged.append(judge_anew(question, Path(folder, str(number))))
                print(f"{judged[-1].verdict.value:18}  {question.name}\n{'':20}{judged[-1].why}".rstrip(), flush=True)
    print({verdict.value: _number(judged, verdict) for verdict in Verdict})
    if "--keep" in words and not wanted:
        refused = [one.question.name for one in judged if one.verdict is Verdict.REFUSED]
        UNANSWERED.write_text("".join(f"{name}\n" for name in refused), encoding="utf-8")
    return _number(judged, Verdict.WRONG)


def _number(judged: list[Judged], verdict: Verdict) -> int:
    return sum(one.verdict is verdict for one in judged)


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:]), 1))
