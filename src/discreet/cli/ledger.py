"""discreet ledger show | complete | check"""

from typing import Annotated

import typer
from rich.markup import escape

from discreet.cli.present import Json, VaultPath, command, out, print_json, table, waiting

app = typer.Typer(help="The journal: everything that was charged and released, in order.", no_args_is_help=True)


@app.command()
@command
def show(
    vault: VaultPath,
    after: Annotated[int, typer.Option(help="only entries after this one")] = 0,
    as_json: Json = False,
) -> None:
    """Show the journal, entry by entry."""
    from discreet.vault.vault import Vault

    opened = Vault.open(vault)
    lines = opened.entries(after)
    if as_json:
        print_json({"entries": list(lines), "receipt": str(opened.ledger.head)})
        return
    rows = [(line["seq"], _clock(line["at"]), line["kind"], line["what"], line["hash"][:12]) for line in lines]
    columns = ("entry", "at (UTC)", "kind", "what", "hash")
    table(f"journal of {vault}", columns, rows, right=("entry",), tight=("at (UTC)", "kind", "hash"))
    out.print(f"[dim]receipt[/] {opened.ledger.head}", soft_wrap=True)


@app.command()
@command
def complete(vault: VaultPath, as_json: Json = False) -> None:
    """Finish charges whose answers were never recorded, because of a crash or a failure; close those of earlier
    snapshots. Spends nothing more."""
    from discreet.vault.vault import Vault

    opened = Vault.open(vault)
    before = opened.ledger.closed()
    with waiting("finishing", as_json):
        finished = opened.complete()
    closed = [number for number in opened.ledger.closed() if number not in before]
    if as_json:
        print_json({"completed": finished, "closed": closed})
        return
    for release in finished:
        out.print(f"charge {release.charge} is complete; receipt {release.receipt}", soft_wrap=True)
    for number in closed:
        out.print(
            f"charge {number} is closed without an answer: it paid for an earlier snapshot, and what it spent stays "
            "spent. Ask anew",
            soft_wrap=True,
        )
    if not finished and not closed:
        out.print("Nothing was left unfinished.")


@app.command()
@command
def check(
    vault: VaultPath,
    receipt: Annotated[
        str | None,
        typer.Option(help="a receipt that was kept elsewhere, as in 17:ab12…, besides the last seen here"),
    ] = None,
    accept_rollback: Annotated[
        bool, typer.Option("--accept-rollback", help="go on with an older journal, if the newer one is lost for good")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check that the journal is whole and goes on from a receipt: that no old copy was put back."""
    from discreet.vault.vault import Vault

    opened = Vault.open(vault, accept_rollback=accept_rollback)
    if receipt is not None:
        opened.check_receipt(receipt, accept_rollback=accept_rollback)
    for charge, _ in opened.ledger.answered():
        opened.ledger.recorded(charge.id)  # by an index, which can be damaged while all entries are whole
    if as_json:
        print_json({"receipt": str(opened.ledger.head), "guarantee": opened.ledger.guarantee})
        return
    since = "the last receipt seen" if receipt is None else "that receipt"
    goes_on = "from here" if accept_rollback else f"from {since}"
    out.print(f"The journal is whole and goes on {goes_on}. Now: {opened.ledger.head}", soft_wrap=True)
    if accept_rollback:
        out.print(f"[dim]promise[/] {escape(str(opened.ledger.guarantee))}", soft_wrap=True)


def _clock(at: str) -> str:
    """A time of the journal, which is in UTC, without what every line would repeat."""
    return at.removesuffix("+00:00").replace("T", " ")
