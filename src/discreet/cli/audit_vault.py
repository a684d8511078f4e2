"""discreet audit vault"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from discreet.cli.present import Json, VaultPath, bar, command, out, pairs, print_json, waiting
from discreet.exact import equals_text

if TYPE_CHECKING:
    from discreet.audit.finding import Check, Finding
    from discreet.audit.report import VaultAudit

MARKS = {"passed": "[green]✓[/]", "skipped": "[dim]–[/]", "warning": "[yellow]![/]", "failed": "[bold red]✗[/]"}


@command
def vault(
    vault: VaultPath,
    html: Annotated[Path | None, typer.Option(help="write the report to this file, as a page")] = None,
    receipt: Annotated[
        list[str] | None, typer.Option(help="a receipt that was kept elsewhere, as in 17:ab12…; may be given again")
    ] = None,
    published: Annotated[
        list[Path] | None, typer.Option(help="a published folder that is not beside the vault; may be given again")
    ] = None,
    as_json: Json = False,
) -> None:
    """Replay the journal, work out again what was spent, and check every release. Reads no rows, and spends nothing."""
    from discreet.audit.report import audit_vault

    with waiting("reading the journal", as_json) as told:
        audit = audit_vault(vault, receipts=receipt or (), published=published or (), progress=told)
    if html is not None:
        _write(html, audit)
    if as_json:
        print_json(audit)
    else:
        _show(audit, html)
    if not audit.holds:
        raise typer.Exit(1)


def _write(path: Path, audit: "VaultAudit") -> None:
    from discreet.errors import VaultError

    try:
        path.write_text(audit.html(), encoding="utf-8")
    except OSError:
        raise VaultError(f"the report cannot be written to {path}; may you write there?") from None


def _show(audit: "VaultAudit", html: Path | None) -> None:
    share = audit.spent / audit.total if audit.total else 0
    pairs(
        f"audit of {audit.vault}",
        [
            ("promise", audit.promise or "not known"),
            ("spent", f"{bar(float(share))} {audit.spent_in_words}"),
            *((f"by {name}", f"{audit.symbol} {equals_text(spent)}") for name, spent in audit.by_user.items()),
        ],
    )
    out.print()
    _show_checks(audit.checks)
    if audit.findings:
        out.print()
        _show_findings(audit.findings, sum(check.unlisted for check in audit.checks))
    out.print()
    out.print(_verdict(audit))
    if audit.holds:
        out.print(f"[dim]keep this receipt elsewhere[/] {audit.receipt}", soft_wrap=True)
    if html is not None:
        out.print(f"[dim]the report, with what an audit cannot see, is in[/] {escape(str(html))}", soft_wrap=True)


def _show_checks(checks: "Sequence[Check]") -> None:
    shown = Table.grid(padding=(0, 2))
    for _ in range(2):
        shown.add_column()
    shown.add_column(style="dim", overflow="fold")
    for check in checks:
        shown.add_row(MARKS[check.outcome], escape(check.title), escape(check.detail))
    out.print(shown)


def _show_findings(findings: "Sequence[Finding]", unlisted: int) -> None:
    from discreet.audit.finding import by_advice

    shown = Table.grid(padding=(0, 2))
    shown.add_column()
    shown.add_column(overflow="fold")
    for alike in by_advice(findings):
        what = "\n".join(escape(finding.what) for finding in alike)
        shown.add_row(MARKS[alike[0].outcome], f"{what}\n[dim]→ {escape(alike[0].next)}[/]")
    out.print(shown)
    if unlisted:
        out.print(f"[dim]and {unlisted:,} more of the same kinds[/]")


def _verdict(audit: "VaultAudit") -> str:
    checks, failed = len(audit.checks), sum(check.outcome == "failed" for check in audit.checks)
    warned = sum(check.outcome == "warning" for check in audit.checks)
    if failed:
        return f"[bold red]{failed} of {checks} checks failed.[/] Until they are explained, answer nothing."
    if warned:
        return f"[green]Everything adds up.[/] There is something to look after in {warned} of {checks} checks."
    return f"[green]Everything adds up: {checks} checks, nothing to look after.[/]"
