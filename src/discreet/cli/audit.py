"""discreet audit"""

import typer

from discreet.cli.audit_attack import attack
from discreet.cli.audit_mechanisms import mechanisms
from discreet.cli.audit_vault import vault

app = typer.Typer(
    help="Check what a vault promises, and try out what an adversary could conclude.", no_args_is_help=True
)
app.command()(vault)
app.command()(mechanisms)
app.command()(attack)


@app.callback()
def audit() -> None:
    """Check what a vault promises, and try out what an adversary could conclude."""
