"""Domains in TOML by the million: a domain that says what it was given, or a refusal in Discreet's own words."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.domain import Domain
from discreet.domain.notation import NOTATION_KEYS
from discreet.domain.read import OWN_KEYS, parse_domain
from tests.trust.fuzzing import FIXTURES, fuzz, guided, mutated

SHARDS = 8
NAMES = ('"people"', '"people"', '"people"', '"a b"', "3")
SEEDS = [
    'name = "p"\n[attributes.a]\nkind = "integer"\nlow = 0\nhigh = 99\nnull = true\noutside = "clamp"\nsource = "s"\n',
    'name = "p"\nnull_ids = "drop"\n[attributes.s]\nkind = "category"\nvalues = ["F", 1, true]\nsource = "s"\n',
    'name = "p"\n[attributes."a b"]\nkind = "category"\nsource = "s"\n[attributes."a b".hierarchy]\nx = ["1", "2"]\n',
    'name = "p"\n[attributes.i]\nkind = "bins"\nedges = [-inf, 0, 1e5, inf]\noutside = "other"\nsource = """s"""\n',
    'name = "p"\n[notation]\nmissing = ["?"]\ndecimal = ","\n[attributes.b]\nkind = "category"\nvalues = [true]\n'
    'booleans = "yes/no"\ntrim = true\nignore_case = true\nsource = "s"\n',
    'name = "p"\nattributes.i = {kind = "bins", edges = [0, 10], grain = 0.25, source = "s", null = false}\n',
]
WORDS = [
    word.encode()
    for word in """
[attributes.x] [[attributes.x]] kind = "integer" "category" "bins" low = high = values = [ ] edges = grain = hierarchy =
{ } source = outside = "drop" "clamp" "other" null = true false name = null_ids = "own" "refuse" inf -inf nan = , . "
''' \"\"\" # 1979-05-27T07:32:00Z 07:32:00 \\u0000 \\U0010FFFF 1e400 -0.0 0b1 0o7 []] [[ {{ == "" '' \\
""".replace(" = ", " =\n").split()
] + [
    b"\n",
    b"\r",
    b"\t",
    b" = ",
    b"[" * 3000,
    b"a." * 3000,
    b"9" * 5000,
    b"0x" + b"f" * 5000,
    b"{a=" * 500,
    b"\xef\xbb\xbf",
]


KEYS = {
    "kind": '"integer" "category" "bins" "bin" 3',
    "source": '"a_register" """s""" "" " "',
    "outside": '"drop" "clamp" "other" "none"',
    "null": 'true false 1 "yes"',
    "low": "0 -5 1 7.0 true -9007199254740993 0x" + "f" * 5000,
    "high": "9 100 0 9007199254740992 1e3",
    "most": "1 1000 0 -1 true 1e9 9007199254740993",
    "longest": "1 100 0 -1 true 1e9",
    "values": '["F","M"] [1,2,3] [true,false] [] [1.5] ["F","F"] [["F"]] "found" [0x' + "f" * 5000 + "]",
    "hierarchy": '{a=["F"],b=["M"]} {a=["F","M"]} {a={b=["F","M"]}} {} {a=[]} [] {' + "a." * 2000 + 'a=["F"]}',
    "edges": "[0,10,20] [-inf,0,inf] [0.5,1e5] [0] [1,0] [nan,1] [-inf,inf] [0,1e30] [0,1e-999999]",
    "values_from": '"b.csv" {file="b.csv"} "c.csv" 3 {file="b.csv",label="x"} {}',
    "period": '"day" "month" "week" "quarter" "year" "hour" 3',
    "grows": "true false 1",
    "late": '"drop" "refuse" "none" 3',
    "zone": '"UTC" "Europe/Zurich" "Nowhere/Near" "../x" "" 3',
    "format": '"DD.MM.YYYY" "YYYYMMDD" "YYYY" "MM" "((YYYY" 3',
    "prefix": "true false 1",
    "missing": '[] ["?"] ["?","",-9] ["F"] "?" [1.5] [true] [0x' + "f" * 5000 + "]",
    "trim": "true false 1",
    "ignore_case": 'true false "no"',
    "booleans": '"yes/no" ["t/f"] "yes" "a/a" [] 3 ["1/0","F/M"] "/" [["a/b"]]',
    "decimal": '"," "." ";" 3',
    "thousands": '"\'" "" "," "." " " "0" "ab"',
    "grain": "1 0.01 0 -1 inf 1e-30 nan 1e999999999",
}
DAYS = (
    "2024-01-01",
    "2024-12-31",
    "0001-01-01",
    "9999-12-31",
    '"2024-02-29"',
    '"2023-02-29"',
    "2024-01-01T00:00:00Z",
    "7",
)
LISTED = {key: values.split(" ") for key, values in KEYS.items()}


def domain_text(draw: Random) -> str:
    """A domain of a few attributes, each line of which says what it may, or nearly."""
    lines = [f"name = {draw.choice(NAMES if draw.random() < 0.3 else NAMES[:1])}"] + ['null_ids = "own"'] * (
        draw.random() < 0.1
    )
    if draw.random() < 0.1:
        key = draw.choice(tuple(NOTATION_KEYS))
        lines += ["[notation]", f"{key} = {draw.choice(LISTED[key])}"]
    for name in draw.sample(("age", "sex", '"a b"', '"é"', "income", "Age", "x" * 300), draw.randrange(1, 4)):
        kind = draw.choice(("integer", "category", "bins", "date"))
        keys = ["source", *OWN_KEYS[kind][: 2 if kind in ("integer", "date") else 1]]
        written = [key for key, kinds in NOTATION_KEYS.items() if kind in kinds]
        keys += [key for key in ("outside", "null", *OWN_KEYS[kind], *written) if draw.random() < 0.1]
        said = {key: draw.choice(LISTED[key][:2] if draw.random() < 0.9 else LISTED[key]) for key in keys}
        if "values" in said and draw.random() < 0.1:
            said = {key: said.get(key, "9") for key in ("source", "most", "longest")} | {"values": '"discover"'}
        elif draw.random() < 0.9:
            said = {key: value for key, value in said.items() if key not in ("most", "longest")}
        if kind == "date":
            said |= {key: draw.choice(DAYS) for key in ("low", "high")}
        lines += [f"[attributes.{name}]", f'kind = "{kind}"', *(f"{key} = {value}" for key, value in said.items())]
    if draw.random() < 0.2:
        book = draw.choice(("code\\n1\\n", "code,parent\\n1,2\\n2,1\\n", "code,label\\n1,a\\n2,a\\n", "", "\\u0000"))
        lines += ["[codebooks]", f'"b.csv" = "{book}"']
    return "\n".join(lines)


def domains(draw: Random, number: int) -> Iterator[str]:
    """Half by the grammar, a quarter with a few lines changed, a quarter with a few bytes."""
    for place in range(number):
        text = domain_text(draw)
        if place % 4 == 2:
            lines = text.split("\n")
            for _ in range(draw.randrange(1, 4)):
                spot, key = draw.randrange(len(lines) + 1), draw.choice(tuple(KEYS))
                lines[spot : spot + draw.randrange(3)] = [f"{key} = {draw.choice(LISTED[key])}"]
            text = "\n".join(lines)
        elif place % 4 == 3:
            text = mutated(draw, draw.choice((text, *SEEDS)).encode(), WORDS).decode("utf-8", "replace")
        yield text


def read(text: str) -> None:
    """Read a domain, and use of it what everything uses."""
    domain = parse_domain(text)
    assert domain.points >= 1
    for attribute in domain.attributes:
        assert attribute.label(0) != attribute.label(attribute.size - 1) or attribute.size == 1


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_domain_crashes_hangs_or_blows_up(shard, amount, counted):
    ended = fuzz(domains(Random(shard), amount(200, 115_000)), read)
    counted(domains=ended.total(), refused=ended["refused"], crashes=0, hangs=0)
    assert ended["taken"] > ended.total() // 10


def test_no_domain_of_the_grammar_crashes_hangs_or_blows_up(amount, counted):
    numbers = st.integers() | st.floats() | st.sampled_from(["inf", "1e999", "9" * 40, "0x1F", "1_0"])
    letters = st.characters(exclude_categories=["Cs"])
    texts = st.text(letters, max_size=6).map(lambda text: '"' + "".join(f"\\U{ord(c):08X}" for c in text) + '"')
    values = st.recursive(
        numbers.map(str) | texts | st.sampled_from(["true", "false"]),
        lambda inner: (
            st.lists(inner, max_size=4).map(lambda v: f"[{', '.join(v)}]")
            | st.dictionaries(st.sampled_from("abx"), inner, max_size=3).map(
                lambda d: "{" + ", ".join(f"{k} = {v}" for k, v in d.items()) + "}"
            )
        ),
        max_leaves=8,
    )
    keys = st.sampled_from(["low", "high", "values", "edges", "grain", "hierarchy", "outside", "null", "odd"])
    kinds = st.sampled_from(['"integer"', '"category"', '"bins"'])
    seen = []

    @settings(max_examples=amount(100, 20_000))
    @given(name=texts, kind=kinds | values, parts=st.dictionaries(keys, values, max_size=5))
    def each(name, kind, parts):
        body = "".join(f"{key} = {value}\n" for key, value in parts.items())
        text = f'name = "people"\n[attributes.{name}]\nkind = {kind}\nsource = "s"\n{body}'
        seen.extend(fuzz([text], read).elements())

    each()
    counted(domains=len(seen), crashes=0, hangs=0)


def test_no_domain_found_by_coverage_crashes_hangs_or_blows_up(amount, counted, tmp_path):
    runs = amount(300, 60_000)
    guided("toml", [seed.encode() for seed in SEEDS], runs, tmp_path)
    counted(domains=runs, crashes=0, hangs=0)


def test_a_domain_is_the_same_when_its_text_is_read_again():
    for text in (*SEEDS, (FIXTURES / "people.toml").read_text()):
        first, second = parse_domain(text), parse_domain(text)
        assert isinstance(first, Domain)
        assert first == second
