"""The audit of a vault as one page: nothing is loaded from anywhere, light and dark, and it prints."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from discreet.audit.finding import Check, Finding, Outcome, by_advice
from discreet.audit.page_drawing import draw_by_region, draw_over_time
from discreet.audit.page_style import STYLE
from discreet.exact import equals_text

if TYPE_CHECKING:
    from discreet.audit.report import VaultAudit

MARKS: dict[Outcome, tuple[str, str]] = {
    "passed": ("✓", "passed"),
    "skipped": ("–", "not looked at"),
    "warning": ("!", "look after it"),
    "failed": ("✗", "failed"),
}


def page(audit: "VaultAudit") -> str:
    """The whole page."""
    title = f"Audit of {audit.name or audit.vault}"
    parts = (
        _verdict(audit),
        _facts(audit),
        _findings(audit),
        _checks(audit.checks),
        draw_over_time(audit),
        draw_by_region(audit),
        _by_user(audit),
        _limits(audit),
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<header><h1>{escape(title)}</h1><p class="dim">{_clock(audit.at)} UTC · {escape(audit.vault)}</p></header>
{"".join(parts)}
</main>
</body>
</html>
"""


def _clock(at: str) -> str:
    return escape(at.removesuffix("+00:00").replace("T", " "))


def _verdict(audit: "VaultAudit") -> str:
    checks = len(audit.checks)
    failed = sum(check.outcome == "failed" for check in audit.checks)
    warned = sum(check.outcome == "warning" for check in audit.checks)
    kind: Outcome = "passed"
    words = "Everything adds up, and there is nothing to look after."
    if failed:
        kind, words = "failed", f"{failed} of {checks} checks failed. Until they are explained, answer nothing."
    elif warned:
        words = f"Everything adds up. There is something to look after in {warned} of {checks} checks."
    return f'<p class="verdict {kind}"><span aria-hidden="true">{MARKS[kind][0]}</span> {words}</p>'


def _facts(audit: "VaultAudit") -> str:
    share = float(audit.spent / audit.total) if audit.total else 0.0
    spent = f"{audit.spent_in_words}; {share:.1%} of the budget"
    life = f"{_clock(audit.first_at)} to {_clock(audit.last_at)}" if audit.first_at else "–"
    keep = "<br><span class=dim>keep it elsewhere, and give it to the next audit (<code>--receipt</code>)</span>"
    rows = [
        ("promise", escape(audit.promise or "not known")),
        ("spent", escape(spent)),
        ("journal", f"{audit.entries:,} entries, {audit.charges:,} of them charges; {life}"),
        ("receipt", f"<code>{escape(audit.receipt)}</code>{keep if audit.holds else ''}"),
    ]
    return f"<section><dl>{''.join(f'<dt>{name}</dt><dd>{value}</dd>' for name, value in rows)}</dl></section>"


def _findings(audit: "VaultAudit") -> str:
    if not audit.findings:
        return ""
    unlisted = sum(check.unlisted for check in audit.checks)
    more = f'<p class="dim">and {unlisted:,} more of the same kinds</p>' if unlisted else ""
    items = "".join(map(_alike, by_advice(audit.findings)))
    return f"<section><h2>What was found</h2><ul class=findings>{items}</ul>{more}</section>"


def _alike(findings: Sequence[Finding]) -> str:
    first = findings[0]
    what = "<br>".join(_text(finding.what) for finding in findings)
    words = f"{what}<div class=dim>→ {_text(first.next)}</div>"
    return f'<li class="{first.outcome}">{_mark(first.outcome, "span")}<div>{words}</div></li>'


def _mark(outcome: Outcome, tag: str) -> str:
    mark, said = MARKS[outcome]
    return f'<{tag} class=mark><span aria-hidden="true">{mark}</span><span class=said>{said}</span></{tag}>'


def _text(text: str) -> str:
    """A sentence, with what is between backticks as code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _checks(checks: Sequence[Check]) -> str:
    rows = "".join(
        f'<tr class="{check.outcome}">{_mark(check.outcome, "td")}'
        f"<td>{escape(check.title)}</td><td class=dim>{escape(check.detail)}</td></tr>"
        for check in checks
    )
    head = "<thead><tr><th></th><th>check</th><th>what was looked at</th></tr></thead>"
    return f"<section><h2>Checks</h2><table>{head}<tbody>{rows}</tbody></table></section>"


def _by_user(audit: "VaultAudit") -> str:
    if not audit.by_user:
        return ""
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td class=number>{audit.symbol} {escape(equals_text(spent))}</td></tr>"
        for name, spent in sorted(audit.by_user.items(), key=lambda pair: -pair[1])
    )
    about = "The most that each user's questions spent at any one point."
    head = "<thead><tr><th>user</th><th class=number>spent</th></tr></thead>"
    return f"<section><h2>Who spent what</h2><p class=dim>{about}</p><table class=narrow>{head}{rows}</table></section>"


def _limits(audit: "VaultAudit") -> str:
    return f"<section><h2>What an audit cannot see</h2><ul>{_items(audit.cannot_see)}</ul></section>"


def _items(texts: Iterable[str]) -> str:
    return "".join(f"<li>{_text(text)}</li>" for text in texts)
