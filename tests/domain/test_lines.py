"""The line that an error names, and the column in it."""

import pytest

from discreet.domain.lines import place_of

TEXT = """name = "people"

[attributes.age]          # line 3
kind = "integer"
low = 0

[attributes."net income"]
kind = "bins"

[attributes.job]
kind = "category"
[attributes.job.hierarchy]
"At work" = ["cook", "clerk"]
Home.idle = [
  "none",
]

[attributes]
sex = { kind = "category", values = ["F", "M"] }
region.kind = "category"
  [ attributes . 'town' ]
values = [1, 2]
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("name",), 1),
        (("attributes",), 3),
        (("attributes", "age"), 3),
        (("attributes", "age", "kind"), 4),
        (("attributes", "age", "low"), 5),
        (("attributes", "age", "high"), 3),
        (("attributes", "net income", "kind"), 8),
        (("attributes", "net income", "edges"), 7),
        (("attributes", "job", "source"), 10),
        (("attributes", "job", "hierarchy"), 12),
        (("attributes", "job", "hierarchy", "At work"), 13),
        (("attributes", "job", "hierarchy", "Home"), 14),
        (("attributes", "sex", "kind"), 19),
        (("attributes", "region", "kind"), 20),
        (("attributes", "town", "values"), 22),
        (("attributes", "town", "source"), 21),
        (("nowhere",), 1),
    ],
)
def test_a_key_is_found_on_its_line_or_that_of_its_table(path: tuple[str, ...], line: int) -> None:
    assert place_of(TEXT, path)[0] == line


def test_a_text_with_windows_line_ends_has_the_same_lines() -> None:
    assert place_of(TEXT.replace("\n", "\r\n"), ("attributes", "job", "hierarchy")) == (12, None)


INLINE = """name = "t"
[attributes]
age = {source = "low = 3, {high = 4}", low = 0, "high" = 9}  # {kind = 0
job = {kind = "category", hierarchy = {office = ["{prefix = 1"], "own work" = {at.home = ["a"]}}, prefix = 3}
notation.x = {y = 1}
"""


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        (("attributes", "age", "source"), 3, 8),
        (("attributes", "age", "low"), 3, INLINE.split("\n")[2].rindex("low = 0") + 1),
        (("attributes", "age", "high"), 3, INLINE.split("\n")[2].index('"high" = 9') + 1),
        (("attributes", "age", "kind"), 3, None),
        (("attributes", "age"), 3, None),
        (("attributes", "job", "prefix"), 4, INLINE.split("\n")[3].rindex("prefix") + 1),
        (("attributes", "job", "hierarchy", "office"), 4, INLINE.split("\n")[3].index("office") + 1),
        (("attributes", "job", "hierarchy", "own work", "at"), 4, INLINE.split("\n")[3].index("own") - 0),
        (("attributes", "job", "hierarchy", "own work", "at", "home"), 4, INLINE.split("\n")[3].index("at.home") + 1),
    ],
)
def test_a_key_in_the_middle_of_a_line_has_a_column(path: tuple[str, ...], line: int, column: int | None) -> None:
    assert place_of(INLINE, path) == (line, column)


@pytest.mark.parametrize(
    "value", ["0x" + "f" * 200_000, "{" + "a." * 100_000 + "a = 1}", '["' + '", "'.join("é" * 50_000) + '"]']
)
def test_a_line_of_a_hundred_thousand_letters_is_read_once(value: str) -> None:
    """With the square of its length it would take longer than a test may."""
    text = f"[attributes.age]\nlow = {value}\nhigh = 3\n"
    assert place_of(text, ("attributes", "age", "high")) == (3, None)
    assert place_of(text, ("attributes", "age", "kind")) == (1, None)
