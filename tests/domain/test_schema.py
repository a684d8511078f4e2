"""The schema for editors takes every domain that is one, and marks the mistakes that editors can."""

import datetime as dt
import re
import tomllib
from pathlib import Path

import pytest

from discreet.domain.notation import NOTATION_KEYS
from discreet.domain.read import COMMON_KEYS, OWN_KEYS, TOP_KEYS, parse_domain
from discreet.domain.schema import domain_schema
from discreet.errors import DomainError

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("src", "tests", "experiments", "bench")
    for path in (ROOT / folder).rglob("*.toml")
    if "[attributes" in path.read_text(encoding="utf-8")
)
FENCED = [
    (page.relative_to(ROOT), body)
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for body in re.findall(r"^```toml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if re.search(r"^name = ", body, re.MULTILINE) and "[attributes" in body
]


def as_editors_see(value):
    """TOML as JSON: days are texts."""
    if isinstance(value, dict):
        return {key: as_editors_see(held) for key, held in value.items()}
    if isinstance(value, list):
        return [as_editors_see(held) for held in value]
    return value.isoformat() if isinstance(value, dt.date) else value


def mistakes(text):
    from jsonschema import Draft7Validator  # takes a second, of every process that collects tests

    validator = Draft7Validator(domain_schema())
    return [error.message for error in validator.iter_errors(as_editors_see(tomllib.loads(text)))]


def test_the_schema_is_one():
    from jsonschema import Draft7Validator

    Draft7Validator.check_schema(domain_schema())


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_domain_here_fits_the_schema(path):
    assert mistakes(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(("page", "text"), FENCED, ids=[f"{page}-{place}" for place, (page, _) in enumerate(FENCED)])
def test_every_domain_in_the_docs_fits_unless_it_is_shown_for_its_mistake(page, text):
    assert bool(mistakes(text)) == ('outside = "round"' in text), page


def test_there_are_domains_to_look_at():
    assert len(FILES) > 2
    assert len(FENCED) > 10


START = 'name = "people"\n[attributes.x]\n'


@pytest.mark.parametrize(
    "text",
    [
        'name = "1st"\n[attributes.x]\nkind = "category"\nvalues = ["a"]\nsource = "s"',
        'name = "people"',
        'name = "people"\nlegend = 1\n[attributes.x]\nkind = "category"\nvalues = ["a"]\nsource = "s"',
        START + 'kind = "number"\nsource = "s"',
        START + 'kind = "category"\nvalues = ["a"]',
        START + 'kind = "category"\nvalues = ["a"]\nsource = ""',
        START + 'kind = "category"\nvalues = []\nsource = "s"',
        START + 'kind = "category"\nvalues = ["a", "a"]\nsource = "s"',
        START + 'kind = "category"\nvalues = ["a"]\noutside = "clamp"\nsource = "s"',
        START + 'kind = "category"\nvalues = ["a"]\nlow = 1\nsource = "s"',
        START + 'kind = "category"\nhierarchy = {g = []}\nsource = "s"',
        START + 'kind = "integer"\nlow = 1\nsource = "s"',
        START + 'kind = "integer"\nlow = 1.5\nhigh = 3\nsource = "s"',
        START + 'kind = "integer"\nlow = 1\nhigh = 3\nbooleans = "yes/no"\nsource = "s"',
        START + 'kind = "bins"\nedges = [1]\nsource = "s"',
        START + 'kind = "bins"\nedges = [1, 2]\ngrain = 0\nsource = "s"',
        START + 'kind = "date"\nlow = 2026-01-01\nhigh = 2026-12-31\nperiod = "decade"\nsource = "s"',
        START + 'kind = "category"\nvalues = [true]\nbooleans = "yes"\nsource = "s"',
        START + 'kind = "category"\nvalues = "find"\nsource = "s"',
        START + 'kind = "category"\nvalues = "discover"\nmost = 0\nsource = "s"',
    ],
)
def test_what_the_schema_refuses_is_no_domain(text):
    assert mistakes(text)
    with pytest.raises(DomainError):
        parse_domain(text)


def test_every_key_has_a_description_for_whoever_types_it():
    schema = domain_schema()
    assert {*schema["properties"]} == {*TOP_KEYS}
    for rule, (kind, own) in zip(schema["$defs"]["attribute"]["allOf"], OWN_KEYS.items(), strict=True):
        said = rule["then"]["properties"]
        written = [key for key, kinds in NOTATION_KEYS.items() if kind in kinds]
        assert {*said} == {*COMMON_KEYS, *own, *written}
        assert all("description" in one for one in said.values())
