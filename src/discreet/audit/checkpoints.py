"""Checkpoints, beside what the entries before them say: by the audit's own reading, and by the vault's own account.

The audit counts charges, answers, facts, tables and publications itself. What was spent where is compared by the
ledger, which counts every entry for an audit and goes by no checkpoint; its map, in the end, by the audit's arithmetic.
"""

import base64
import binascii
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from discreet.audit.finding import Check, Findings, counted, skipped
from discreet.ledger.ledger import Ledger

FORM = 1
MOST_NUMBERS = 1 << 27
"""No list of charges in a checkpoint is longer."""
UNTRUE = (
    "somebody wrote it who was not Discreet, or a version of Discreet was wrong: nobody goes by it, so that nothing "
    "was charged less; find out who wrote to the journal"
)


def differing(content: Any, own: dict[str, Any]) -> list[str]:
    """What a checkpoint says otherwise than the audit counted; nothing of one whose form this version does not know."""
    if isinstance(content, dict) and content.get("form") != FORM:
        return []
    if not isinstance(content, dict):
        return ["everything"]
    return [name for name, counted_here in own.items() if _read(content.get(name)) != counted_here]


def _read(said: Any) -> Any:
    """What is said, with packed whole numbers as a list; None where they cannot be read."""
    if not isinstance(said, dict):
        return said
    try:
        [many] = said["shape"]
        if said["numbers"] != "int64" or type(many) is not int or not 0 <= many <= MOST_NUMBERS:
            return None
        found = zlib.decompressobj().decompress(base64.b64decode(said["zlib"], validate=True), 8 * many + 1)
        return list(struct.unpack(f"={many}q", found))
    except (LookupError, TypeError, ValueError, binascii.Error, zlib.error, struct.error):
        return None


def check_checkpoints(account: Ledger | None, entries: Sequence[int], found: Findings) -> Check:
    """That checkpoints state what the entries before them add up to. `found` is what the audit counted otherwise."""
    title = "Checkpoints state what is so"
    if account is None and not found:
        return skipped("checkpoints", title)
    for seq in [] if account is None else account.untrue_checkpoints:
        what = f"entry {seq} is a checkpoint, and states something else than the entries before it add up to"
        found.failed(what, UNTRUE, seq)
    return found.check(
        "checkpoints", title, f"{counted(len(entries), 'checkpoint')}, each counted again from the start"
    )
