"""discreet demo"""

import shutil
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.rule import Rule

from discreet.cli.present import command, err, out, waiting
from discreet.errors import VaultError

QUESTIONS: tuple[tuple[str, str | None, dict[str, Any]], ...] = (
    (
        "A count. Its answer comes with noise, and with how far off it may be.",
        "SELECT COUNT(*) FROM people WHERE age BETWEEN 20 AND 50 AND income >= 40000",
        {},
    ),
    ("The same question again gets the same answer, and is free.", None, {}),
    (
        "Groups don't share people, so a table costs no more than one of its lines.",
        "SELECT education, COUNT(*), AVG(income) FROM people WHERE age >= 25 GROUP BY education",
        {"scale": 200},
    ),
    (
        "What follows from released answers is free too.",
        "SELECT COUNT(*) FROM people WHERE age >= 25 AND education IN ('bachelor', 'postgraduate')",
        {"within": 2000},
    ),
    (
        "Here somebody spends all that is left in one region …",
        "SELECT COUNT(*) FROM people WHERE occupation = 'care' AND region = 'Arden' AND age BETWEEN 30 AND 60",
        {"scale": "2.1"},
    ),
    (
        "… so the next one is relaxed to the nearest region that is public. It never stops.",
        "SELECT COUNT(*) FROM people WHERE occupation = 'care' AND region = 'Arden' AND age BETWEEN 31 AND 60",
        {"scale": 10},
    ),
)


@command
def demo(
    folder: Annotated[Path, typer.Argument(help="where to put it")] = Path("demo"),
    people: Annotated[int, typer.Option(min=1, help="how many to make up")] = 1_000_000,
    only_people: Annotated[bool, typer.Option("--only-people", help="a table and its domain, and no vault")] = False,
    console: Annotated[
        bool, typer.Option("--console", help="serve a vault over them to a browser on this machine, until interrupted")
    ] = False,
    port: Annotated[int, typer.Option(help="with --console: 0 takes any that is free")] = 8080,
    browser: Annotated[bool, typer.Option(help="with --console: open the system's browser")] = True,
) -> None:
    """Show a vault at work over a census of people who never lived."""
    if console and only_people:
        raise typer.BadParameter("--console serves a vault, and --only-people makes none; give one of them")
    if console:
        _serve(folder, people, port, browser)
    elif only_people:
        _make_people(folder, people)
    else:
        _walk(folder, people)


def _walk(folder: Path, people: int) -> None:
    """Generate a census, make a vault over it, and ask it questions."""
    from discreet.cli.ask import show_answer
    from discreet.cli.vault import show_budget
    from discreet.vault.vault import Vault

    started = time.perf_counter()
    home = folder / "vault"
    _require_new(home)
    _make_people(folder, people)
    out.print("A vault over both, for ε = 1 in all:\n")
    table, domain = folder / "people.parquet", folder / "people.toml"
    _say(f"discreet init {home} --table {table} --domain {domain} --epsilon 1 --neighbours replace")
    with waiting("making the vault") as told:
        vault = Vault.init(home, table=table, domain=domain, epsilon=1, neighbours="replace", progress=told)
    last = ""
    for title, sql, wish in QUESTIONS:
        last = sql or last
        out.print(Rule(title, align="left", style="dim"))
        _say(f'discreet ask {home} "{last}"' + "".join(f" --{key} {value}" for key, value in wish.items()))
        show_answer(vault.ask(last, **wish))
        out.print()
    out.print(Rule("What it cost", align="left", style="dim"))
    show_budget(vault)
    err.print(f"\n[dim]All of it in {time.perf_counter() - started:.1f} s. The vault stays: ask it something.[/]")


def _make_people(folder: Path, people: int) -> None:
    """Write the census and what is public about it. Nothing that is there is written over."""
    from discreet.demo.census import census_domain_path, write_census

    table, domain = folder / "people.parquet", folder / "people.toml"
    _require_new(table, domain)
    folder.mkdir(parents=True, exist_ok=True)
    with waiting(f"generating {people:,} people") as told:
        write_census(table, people, progress=told)
    shutil.copy(census_domain_path(), domain)
    out.print(f"{people:,} people who never lived are in {table},", soft_wrap=True)
    out.print(f"and what is public about them in {domain}.", soft_wrap=True)


def _require_new(*paths: Path) -> None:
    for path in paths:
        if path.exists():
            raise VaultError(f"{path} is there already; remove it, or name another folder: discreet demo FOLDER")


def _serve(folder: Path, people: int, port: int, browser: bool) -> None:
    """Serve the demo's vault to a browser until interrupted. What is missing of it is made first."""
    try:
        from discreet.demo.console import new_tokens, prepare
        from discreet.server.run import serve
    except ModuleNotFoundError:
        raise VaultError("the console needs FastAPI and uvicorn: pip install 'discreet[server]'") from None
    with waiting("making the vault") as told:
        vault = prepare(folder, people, told)
        vault.gate.warm()
    token = new_tokens(vault)["demo"]

    def ready(address: str) -> None:
        door = f"{address}/login#token={token}"
        out.print("[bold]The console is open.[/] This address signs you in as the custodian; Ctrl-C ends it:")
        out.print(door, soft_wrap=True)
        if browser:
            import webbrowser

            webbrowser.open(door)

    serve(vault, "127.0.0.1", port, ready=ready)


def _say(line: str) -> None:
    out.print(f"[cyan]$ {line}[/]", soft_wrap=True)
