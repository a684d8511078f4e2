"""The line that an error names."""

import pytest

from discreet.domain.lines import line_of

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
    assert line_of(TEXT, path) == line


def test_a_text_with_windows_line_ends_has_the_same_lines() -> None:
    assert line_of(TEXT.replace("\n", "\r\n"), ("attributes", "job", "hierarchy")) == 12
