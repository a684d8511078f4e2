"""What other tools answered of the list, as kept, beside what Discreet answers."""

import json
from collections.abc import Iterator

from bench.figure import Figure
from bench.sql_peers.compare import RESULTS
from tests.questions.listed import questions, unanswered


def peer_figures() -> Iterator[Figure]:
    """Discreet answers what is not in unanswered.txt, which the tests keep true; `python -m bench sql` counts it."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    left = {*unanswered()}
    own = 100 * sum(question.name not in left for question in questions()) / len(questions())
    for tool in kept["tools"]:
        right, title = 100 * len(tool["right"]) / max(tool["asked"], 1), tool["title"]
        counts = f"{len(tool['right'])} of {tool['asked']} it answered, and {len(tool['wrong'])} wrongly"
        said = f"{own:.0f}% and {right:.0f}%; {counts}; {title} {tool['version']}"
        note = f"not installed: {tool['not_installed']}" if tool["not_installed"] else f"{said}, {kept['date']}"
        yield Figure(f"questions answered, to {title}", own / max(right, 1.0), 1, "higher", "×", note)
