"""The documentation runs: README.md, CONTRIBUTING.md, CHANGELOG.md and every page under docs/.

A page runs from top to bottom in a folder of its own. The tutorial and the how-tos begin with an empty one, as a reader
does; the one about six files finds them there. For the others it holds people.parquet (20,000 generated people),
people.toml (their domain) and, unless the page makes its own with `discreet init`, a vault with ε = 10, replace.

- ```console: `$ discreet …` runs in this process, a few harmless commands in a shell. Where the page shows what is
  printed, that is what has to be printed: spaces do not count, `…` stands for anything, and so does what differs from
  run to run: times, hashes, and numbers that noise makes (the one before ±, and a value with its interval, as in
  `41.2  40.9 … 41.5`). A page that shows an error expects exit code 1, else it is 0.
- ```toml and ```python that begin with `# file: NAME` are saved under that name.
- ```python runs, in one namespace a page; what stands after `# →` is the repr of the expression before it.
"""

import ast
import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from discreet import errors
from discreet.answer.policy import Policy
from discreet.answer.reply import Answer, Explanation
from discreet.cli import app, present
from discreet.demo.census import census_domain_path, write_census
from discreet.domain.notation import NOTATION_KEYS
from discreet.domain.read import COMMON_KEYS, OWN_KEYS, TOP_KEYS
from discreet.release.release import Release
from discreet.vault import Vault
from discreet.vault.buckets import VaultBuckets
from discreet.vault.cubes import VaultCubes
from discreet.vault.facts import VaultFacts
from discreet.vault.running import VaultRunning
from discreet.vault.sulq import VaultSulq
from tests.six_files import write_six_files

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")] + sorted(
    DOCS.rglob("*.md")
)
SIX_FILES = DOCS / "how-to/six-files.md"
MOST_TYPED = 10
"""Lines from a file as it comes to the first answer."""
SHELL = ("cp", "mv", "rm", "ls", "cat", "head", "chmod", "mkdir")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# file: (\S+)\n")
NUMBER = r"(?:-?[\d,]+(?:\.\d+)?(?:e[-+]?\d+)?|–)"
TIME, HASH = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", r"(?:\d+:)?[0-9a-f]{12,64}"
CHANGING = re.compile(rf"(?<!\S)(?:{NUMBER}(?= ±)|{NUMBER} {NUMBER} … {NUMBER}|{TIME}|{HASH})(?!\S)")
ERRORS = [name for name, found in vars(errors).items() if isinstance(found, type)]


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def code(page: Path, *kinds: str) -> Iterator[tuple[str, str]]:
    return ((kind, body) for kind, body in FENCE.findall(page.read_text(encoding="utf-8")) if kind in kinds)


def begins_with_nothing(page: Path) -> bool:
    return page.is_relative_to(DOCS / "how-to") or page == DOCS / "tutorial.md"


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("census") / "people.parquet"
    write_census(path, 20_000)
    return path


@pytest.mark.parametrize("page", [page for page in PAGES if any(code(page, "console", "python"))], ids=page_name)
def test_a_page_does_what_it_shows(page: Path, census: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for console in (present.out, present.err):
        monkeypatch.setattr(console, "_width", 80)
    if not begins_with_nothing(page):
        shutil.copy(census, "people.parquet")
        shutil.copy(census_domain_path(), "people.toml")
        if "discreet init vault " not in page.read_text(encoding="utf-8"):
            Vault.init("vault", table="people.parquet", domain="people.toml", epsilon=10, neighbours="replace")
    if page == SIX_FILES:
        put_six_files(folder)
    namespace: dict[str, Any] = {"__name__": "page"}
    for kind, body in code(page, "console", "python", "toml"):
        if named := FILE.match(body):
            Path(named[1]).write_text(body[named.end() :], encoding="utf-8")
        elif kind == "console":
            for command, shown in commands(body):
                check_command(command, shown)
        elif kind == "python":
            check_python(body, namespace)


def put_six_files(folder: Path) -> None:
    try:
        write_six_files(folder)
    except FileNotFoundError:
        needed = "Adult and Census-Income are not in shared/data beside the repository"
        pytest.fail(needed, pytrace=False) if os.environ.get("CI") else pytest.skip(needed)


def test_from_each_of_six_files_to_an_answer_little_is_typed() -> None:
    text = SIX_FILES.read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert len(parts) == 6
    for part in parts:
        lines = [line for _, body in FENCE.findall(part) for line in body.splitlines()]
        described = [line for line in lines if re.match(r"\w+ = |\[|\"", line)]
        typed = [line for line in lines if line.startswith("$ ")]
        assert any(" ask " in line for line in typed)
        assert 3 <= len(described) + len(typed) <= MOST_TYPED


@pytest.mark.parametrize("page", sorted(DOCS.glob("how-to/*.md")), ids=page_name)
def test_a_how_to_makes_the_vault_that_it_uses(page: Path) -> None:
    made = "".join(body for _, body in code(page, "console", "python"))
    assert re.search(r"\bdiscreet (init|domain check) ", made)


def test_the_transcript_of_r_is_of_the_script_beside_it() -> None:
    script = (DOCS / "how-to/r.R").read_text(encoding="utf-8").splitlines()
    typed = [
        line[2:]
        for _, body in code(DOCS / "how-to/r.md", "text")
        for line in body.splitlines()
        if line.startswith(("> ", "+ "))
    ]
    assert typed == [line for line in script if line and not line.startswith("#")]


def commands(body: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines that are shown after it."""
    shown: list[str] = []
    command = ""
    for line in body.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            if command:
                yield command, shown
            command, shown = line[2:], []
        elif command.count('"') % 2:
            command += f" {line}"
        elif line.strip():
            shown.append(line)
    yield command, shown


def check_command(command: str, shown: list[str]) -> None:
    words = shlex.split(command, comments=True)
    file = Path(words.pop()) if ">" in words else None
    if file is not None:
        words.remove(">")
    printed, exit_code = run_discreet(words[1:]) if words[0] == "discreet" else run_shell(command, words[0])
    if file is not None:
        file.write_text(printed, encoding="utf-8")
        printed = ""
    fails = any(line.partition(":")[0] in ERRORS for line in shown)
    assert exit_code == fails, f"$ {command}\n{printed}"
    if shown:
        lines = [" ".join(line.split()) for line in printed.splitlines() if line.strip()]
        assert pattern_of(shown).fullmatch("\n".join(lines) + "\n"), f"$ {command}\n{printed}"


def run_discreet(arguments: list[str]) -> tuple[str, int]:
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output, result.exit_code


def run_shell(command: str, program: str) -> tuple[str, int]:
    assert program in SHELL, f"$ {command}: a page may run discreet and {', '.join(SHELL)}"
    done = subprocess.run(command, shell=True, text=True, capture_output=True, check=False)
    return done.stdout + done.stderr, done.returncode


def pattern_of(shown: list[str]) -> re.Pattern[str]:
    parts = []
    for line in (" ".join(line.split()) for line in shown):
        if line == "…":
            parts.append(r"(?:.*\n)*")
        else:
            parts.append(re.escape(CHANGING.sub("…", line)).replace("…", ".*") + r"\n")
    return re.compile("".join(parts))


def check_python(body: str, namespace: dict[str, Any]) -> None:
    lines = body.splitlines()
    for statement in ast.parse(body).body:
        before, arrow, shown = lines[(statement.end_lineno or 1) - 1].partition("# →")
        if arrow and isinstance(statement, ast.Expr):
            found = repr(eval(compile(ast.Expression(statement.value), "page", "eval"), namespace))
            assert pattern_of([shown]).fullmatch(" ".join(found.split()) + "\n"), f"{before} is {found}"
        else:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(ast.Module([statement], []), "page", "exec"), namespace)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("2,135  ± 599  measured", "98 ± 599 measured", True),
        ("2,135  ± 599  measured", "2,135 ± 600 measured", False),
        ("F  65.6  28.4 … 99  measured", "F 44.06 25.63 … 65.45 measured", True),
        ("F  65.6  28.4 … 99  measured", "M 44.06 25.63 … 65.45 measured", False),
        ("receipt 7:5b730199dfa5", "receipt 11:" + "0f" * 32, True),
        ("receipt 7:5b730199dfa5", "no receipt", False),
        ("such questions  47", "such questions 48", False),
        ("first\n…\nlast", "first\nand\nmore\nlast", True),
        ("first\n…\nlast", "first\nand\nmore", False),
        ("first", "first\nand more", False),
    ],
)
def test_only_what_changes_from_run_to_run_may_differ_from_what_is_shown(shown: str, printed: str, same: bool) -> None:
    assert bool(pattern_of(shown.splitlines()).fullmatch(printed + "\n")) == same


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(page))):
        if re.match(r"[a-z]+:", target):
            continue
        place, _, anchor = target.partition("#")
        goal = page.parent / place if place else page
        assert goal.exists(), f"{target} leads nowhere"
        assert not anchor or anchor in headings(goal), f"{target}: there is no such heading"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_place_in_the_code_is_there(page: Path) -> None:
    """`answer/relax.py:relax` means a file of the package, or of the repository, and a name that it defines."""
    for place, name in re.findall(r"`([\w/.]+\.py):(\w+)`", prose(page)):
        file = next((found for found in (ROOT / "src/discreet" / place, ROOT / place) if found.is_file()), None)
        assert file is not None, f"there is no {place}"
        defined = rf"^\s*(?:(?:def|class) {name}\b|{name}(?:: .*)? =)"
        assert re.search(defined, file.read_text(encoding="utf-8"), re.MULTILINE), f"{place} has no {name}"


def sections(page: Path) -> dict[str, str]:
    """The text under each heading of a page, by the heading's words."""
    parts = re.split(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {title.replace("`", ""): text for title, text in zip(parts[::2], parts[1::2], strict=True)}


def leaf_commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The commands below a group, by what one types. Typer brings a click of its own, so it is asked for its parts."""
    if hasattr(command, "commands"):
        for name, found in command.commands.items():
            yield from leaf_commands(found, f"{path} {name}")
    else:
        yield path, command


@pytest.mark.parametrize(
    ("path", "command"),
    [pytest.param(*leaf, id=leaf[0]) for leaf in leaf_commands(typer.main.get_command(app), "discreet")],
)
def test_every_command_and_option_is_in_the_reference(path: str, command: Any) -> None:
    section = sections(DOCS / "reference/cli.md").get(path)
    assert section is not None, f"cli.md has no heading `{path}`"
    options = {option for parameter in command.params for option in parameter.opts if option.startswith("-")}
    missing = [option for option in options - {"--help"} if not re.search(rf"`{option}\b", section)]
    assert not missing


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_in_the_reference(name: str) -> None:
    assert name in sections(DOCS / "reference/errors.md")


@pytest.mark.parametrize("key", [*TOP_KEYS, *COMMON_KEYS, *NOTATION_KEYS, *chain(*OWN_KEYS.values())])
def test_every_key_of_a_domain_is_in_the_reference(key: str) -> None:
    assert re.search(rf"`\[?{key}", prose(DOCS / "reference/domain.md"))


@pytest.mark.parametrize("key", ["location", *Policy.__dataclass_fields__])
def test_every_setting_is_in_the_reference(key: str) -> None:
    assert f"`{key}`" in prose(DOCS / "reference/settings.md")


@pytest.mark.parametrize("noun", [Vault, Answer, Explanation, Release], ids=lambda noun: noun.__name__)
def test_every_public_name_is_in_the_python_reference(noun: type) -> None:
    text = (DOCS / "reference/python.md").read_text(encoding="utf-8")
    names = {*vars(noun), *getattr(noun, "__dataclass_fields__", ())}
    missing = [name for name in sorted(names) if not name.startswith("_") and not re.search(rf"\b{name}\b", text)]
    assert not missing


@pytest.mark.parametrize(
    ("name", "noun"),
    [
        ("cubes", VaultCubes),
        ("facts", VaultFacts),
        ("buckets", VaultBuckets),
        ("sulq", VaultSulq),
        ("running", VaultRunning),
    ],
)
def test_every_verb_of_a_thing_of_a_vault_is_in_the_python_reference(name: str, noun: type) -> None:
    text = (DOCS / "reference/python.md").read_text(encoding="utf-8")
    verbs = [verb for verb in vars(noun) if not verb.startswith("_") and callable(getattr(noun, verb))]
    assert [verb for verb in verbs if f"`vault.{name}.{verb}(" not in text] == []


def test_every_word_of_the_sql_that_is_accepted_is_in_the_reference() -> None:
    fixture = (ROOT / "tests/fixtures/sql/accepted.sql").read_text(encoding="utf-8")
    statements = re.sub(r"^--.*$|'[^']*'", "", fixture, flags=re.MULTILINE)
    names = {name.upper() for name in re.findall(r"^\[attributes\.(\w+)\]", fixture_domain(), re.MULTILINE)}
    words = set(re.findall(r"\b[A-Z_]{2,}\b", statements)) - names - {"PEOPLE"}
    text = prose(DOCS / "reference/sql.md")
    assert {"COUNT", "BETWEEN", "FILTER", "OFFSET"} <= words
    assert not [word for word in sorted(words) if not re.search(rf"\b{word}\b", text)]


def fixture_domain() -> str:
    return (ROOT / "tests/fixtures/sql/people.toml").read_text(encoding="utf-8")
