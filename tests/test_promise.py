"""The promise names the tests that check it: every claim has some, and every one that is named is there."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/explain/privacy-promise.md").read_text(encoding="utf-8")
CLAIMS = re.findall(r"^\| (?!claim )([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)+)`", PAGE)))


@cache
def named_in(path: str) -> set[str]:
    """The tests of a file, those of classes by the names of both."""
    found = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        before = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        found |= {f"{before}{each.name}" for each in inside if isinstance(each, ast.FunctionDef)}
    return {name for name in found if name.rpartition("::")[2].startswith("test_")}


@pytest.mark.parametrize("named", NAMED)
def test_a_test_that_is_named_is_there(named: str) -> None:
    path, _, name = named.partition("::")
    assert (ROOT / path).is_file(), f"there is no {path}"
    assert name in named_in(path), f"{path} has no {name}"


@pytest.mark.parametrize(("claim", "checked"), CLAIMS, ids=[claim[:60] for claim, _ in CLAIMS])
def test_every_claim_is_checked_by_something(claim: str, checked: str) -> None:
    assert re.search(r"`tests/|`make ", checked), f"nothing checks that {claim}"


def test_there_are_claims_to_check() -> None:
    assert len(CLAIMS) > 25
    assert len(NAMED) > 60
