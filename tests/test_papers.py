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
