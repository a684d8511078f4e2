"""docs/explain/papers.md: every place that it names exists, and every row has one, or says why not."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "explain" / "papers.md").read_text(encoding="utf-8")
PLACE = re.compile(r"`((?:[\w/]+\.py|tests/\w+|experiments/\w+)(?::[\w.]+)?)`")
PAPERS = ("Relaxation", "Cubes", "SuLQ", "Refinement", "Buckets")


@cache
def names_in(path):
    """Every function, class and assigned name of a module, and those of its classes as Class.name."""
    found = set()
    module = ast.parse(path.read_text(encoding="utf-8"))

    def gather(nodes, prefix):
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(prefix + node.name)
                if isinstance(node, ast.ClassDef):
                    gather(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.update(prefix + target.id for target in targets if isinstance(target, ast.Name))

    gather(module.body, "")
    return found


def rows_of(paper):
    """The lines of a paper's tables: what kind of table, and its cells."""
    text = PAGE.split(f"\n## {paper}\n")[1].split("\n## ")[0]
    kind = ""
    for line in text.splitlines():
        if not line.startswith("|"):
            kind = ""
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not kind:
            kind = cells[0]
        elif set(cells[0]) != {"-"}:
            yield kind, cells


@pytest.mark.parametrize("place", sorted(set(PLACE.findall(PAGE))))
def test_every_place_that_is_named_exists(place):
    file, _, name = place.partition(":")
    path = ROOT / file if file.startswith(("tests/", "experiments/")) else ROOT / "src" / "discreet" / file
    assert path.exists(), path
    assert not name or name in names_in(path), sorted(names_in(path))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_has_a_place_in_the_code_or_a_test_or_says_why_there_is_none(paper):
    rows = list(rows_of(paper))
    assert rows
    for kind, cells in rows:
        assert all(cells[:1]), cells
        if kind.startswith("in the "):
            said = " ".join(cells[1:])
            assert PLACE.search(said) or "](" in said, cells
        else:
            assert kind in ("absent", "wrong or loose in the paper", "wrong or loose in the thesis"), kind
            assert len(cells[1]) > 0, cells


NUMBERED = {
    "Relaxation": "Definition 1-9; Example 1-7; Lemma 1-4; Theorem 1; Corollary 1-2; Figure 1-16; Table 1-2",
    "Cubes": (
        "Definition 2.1.1-2.1.3,5.1.1-5.1.6; Theorem 2.1.1-2.1.3,3.2.1-3.2.4,3.2.6-3.2.7,3.3.1-3.3.3,3.3.7-3.3.8,"
        "4.2.1-4.2.2,4.3.1-4.3.2,5.1.1,5.2.5,5.3.1; Lemma 3.2.5,3.3.4-3.3.5,4.2.3,5.2.1-5.2.4; Corollary 3.3.6;"
        "Problem 1-6; Algorithm 1-4; Example 2.1.1,3.2.1-3.2.4,3.3.1,5.1.1,5.2.1; Conjecture 1;"
        "Figure 1.1-1.2,2.1,3.1,5.1,6.1-6.10; Table 1.1"
    ),
    "SuLQ": "Definition 1; Proposition 1-3; Theorem 1-3; Lemma 1",
    "Refinement": "Definition 1-7; Example 1; Theorem 1-3",
    "Buckets": (
        "Definition 1-6; Theorem 1-4; Lemma 1-8; Corollary 1-3; Example 1-5; Algorithm 1-2; Remark 1-3;"
        "Figure 1-7; Table 1-5"
    ),
}


def spread_out(numbers):
    """1-3,5.2.1-5.2.3 as single numbers."""
    for part in numbers.split(","):
        first, _, last = part.strip().partition("-")
        head, dot, low = first.rpartition(".")
        yield from (f"{head}{dot}{number}" for number in range(int(low), int((last or first).rpartition(".")[2]) + 1))


def mentioned(text, word):
    """Every number that follows a word, singular or plural: Lemmas 5.2.1 and 5.2.2, Figures 11 to 16."""
    found = set()
    for listed in re.findall(rf"{word}s? ((?:\d[\d.]*\d|\d)(?:(?:, | and | to )(?:\d[\d.]*\d|\d)(?![\w.]*\)))*)", text):
        for span in re.split(r", | and ", listed):
            ends = span.split(" to ")
            found.update(spread_out("-".join(ends)))
    return found


@pytest.mark.parametrize("paper", PAPERS)
def test_everything_that_a_paper_numbers_is_listed(paper):
    text = PAGE.split(f"\n## {paper}\n")[1].split("\n## ")[0]
    missing = []
    for group in NUMBERED[paper].split(";"):
        word, _, numbers = group.strip().partition(" ")
        word = "Corollar(?:y|ies)" if word == "Corollary" else word
        missing += [f"{word} {number}" for number in spread_out(numbers) if number not in mentioned(text, word)]
    assert not missing, missing
