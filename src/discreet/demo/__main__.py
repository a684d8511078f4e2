"""`make demo`: a vault over a generated census of 1,000,000 people, at work."""

import shutil
import time
from pathlib import Path
from typing import Any

import typer
from rich.rule import Rule

from discreet.cli.ask import show_answer
from discreet.cli.present import err, out, waiting
from discreet.cli.vault import show_budget
from discreet.demo.census import census_domain_path, write_census
from discreet.vault import Vault

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


def main(folder: Path = Path("demo"), people: int = 1_000_000, epsilon: str = "1", neighbours: str = "replace") -> None:
    """Generate a census, make a vault over it, and ask it questions."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    started = time.perf_counter()
    with waiting(f"generating {people:,} people") as told:
        write_census(folder / "people.parquet", people, progress=told)
    shutil.copy(census_domain_path(), folder / "people.toml")
    out.print(f"{people:,} people who never lived are in {folder}/people.parquet, and what is public about them")
    out.print(f"in {folder}/people.toml. A vault over both, for ε = {epsilon} in all:\n")
    _say(
        f"discreet init {folder}/vault --table {folder}/people.parquet --domain {folder}/people.toml "
        f"--epsilon {epsilon} --neighbours {neighbours}"
    )
    with waiting("making the vault") as told:
        vault = Vault.init(
            folder / "vault",
            table=folder / "people.parquet",
            domain=folder / "people.toml",
            epsilon=epsilon,
            neighbours="replace" if neighbours == "replace" else "add-remove",
            progress=told,
        )
    last = ""
    for title, sql, wish in QUESTIONS:
        last = sql or last
        out.print(Rule(title, align="left", style="dim"))
        _say(f'discreet ask {folder}/vault "{last}"' + "".join(f" --{key} {value}" for key, value in wish.items()))
        show_answer(vault.ask(last, **wish))
        out.print()
    out.print(Rule("What it cost", align="left", style="dim"))
    show_budget(vault)
    err.print(f"\n[dim]All of it in {time.perf_counter() - started:.1f} s. The vault stays: ask it something.[/]")


def _say(line: str) -> None:
    out.print(f"[cyan]$ {line}[/]", soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
