"""Everything that is wrong is told at once, each at its line, and what is right is shown."""

import pytest

from discreet.domain.inspect import Problem, inspect_domain

GOOD = 'name = "people"\n[attributes.age]\nkind = "integer"\nlow = 0\nhigh = 9\nsource = "form"\n'


def test_a_domain_without_a_mistake_is_read(tmp_path):
    found = inspect_domain(GOOD, tmp_path)
    assert found.problems == ()
    assert found.domain is not None
    assert found.domain.names == ("age",)
    assert [line for line, _ in found.attributes] == [2]


def test_all_mistakes_are_told_each_at_its_line_and_the_rest_is_shown(tmp_path):
    text = GOOD + '[attributes.sex]\nkind = "category"\nvalues = []\nsource = "x"\n[attributes.x]\nkind = "?"\n'
    found = inspect_domain(text, tmp_path)
    assert found.domain is None
    assert [attribute.name for _, attribute in found.attributes] == ["age"]
    assert found.problems == (
        Problem(9, "attributes.sex.values: at least one category is needed"),
        Problem(12, 'attributes.x.kind: must be "integer", "category", "bins" or "date"'),
    )


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('name = "people"\n[attributes.age\n', 2, "not TOML"),
        ('name = "people', 1, "not TOML"),
        ('name = "people"\n\nmore = [1,\n', 3, "not TOML"),
        ("", 1, "is required"),
        ('name = "people"\nother = 1\n', 2, "unknown key 'other'"),
        (GOOD + "[notation]\ndecimal = 5\n", 8, "notation.decimal"),
        (GOOD + GOOD.partition("\n")[2].replace("age", "AGE"), 7, "differ in case only"),
        ('name = "people"\nattributes = {x = 1}\n', 2, "must be a table"),
    ],
)
def test_what_is_wrong_with_the_whole_has_a_line_too(tmp_path, text, line, message):
    (found,) = inspect_domain(text, tmp_path).problems
    assert found.line == line
    assert message in found.message


def test_a_codebook_is_looked_for_beside_the_file_and_its_own_mistakes_are_told_where_it_is_named(tmp_path):
    (tmp_path / "good.csv").write_text("code,label\n1,one\n")
    (tmp_path / "twice.csv").write_text("code\n1\n1\n")
    books = ["good.csv", "twice.csv", "none.csv"]
    text = 'name = "people"\n[attributes]\n' + "".join(
        f'x{place} = {{kind = "category", values_from = "{book}", source = "s"}}\n' for place, book in enumerate(books)
    )
    found = inspect_domain(text, tmp_path)
    assert [attribute.labels for _, attribute in found.attributes] == [("1 one",)]
    assert [problem.line for problem in found.problems] == [4, 5]
    assert "twice.csv: line 3: code: '1' is listed before" in found.problems[0].message
    assert "cannot read the codebook" in found.problems[1].message
