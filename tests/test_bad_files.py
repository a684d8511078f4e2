"""What is wrong with a file, a folder or a codebook is named by file, line and column, and nothing is made."""

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.domain.read import read_domain
from discreet.errors import DiscreetError, DomainError, TableError
from discreet.vault import Vault, fit_domain, propose_domain
from tests.workbook import protected_workbook

AGE = 'age = {kind = "integer", low = 0, high = 99, source = "form"}'
COLOUR = 'age = {kind = "category", values_from = "book.csv", source = "form"}'


def a_folder_whose_column_changes_type(folder):
    (folder / "rows").mkdir()
    pq.write_table(pa.table({"age": [1, 2]}), folder / "rows/2026-01.parquet")
    pq.write_table(pa.table({"age": ["1", "2"]}), folder / "rows/2026-02.parquet")
    return folder / "rows"


def arrow_files_whose_column_changes_type(folder):
    feather.write_feather(pa.table({"age": [1]}), folder / "1.arrow")
    feather.write_feather(pa.table({"age": [1.5]}), folder / "2.arrow")
    return folder / "*.arrow"


def a_folder_with_another_column(folder):
    (folder / "rows").mkdir()
    (folder / "rows/1.csv").write_text("age,sex\n1,F\n")
    (folder / "rows/2.csv").write_text("sex,age\nF,1\n")
    return folder / "rows"


def a_workbook_with_a_password(folder):
    return protected_workbook(folder / "rows.xlsx")


def a_table(folder):
    (folder / "rows.csv").write_text("age\n" + "5\n" * 100)
    return folder / "rows.csv"


def book(text):
    def write(folder):
        (folder / "book.csv").write_bytes(text)
        return a_table(folder)

    return write


CASES = {
    "a type that changes": (
        a_folder_whose_column_changes_type,
        AGE,
        TableError,
        r"2026-02\.parquet: column 'age' is text, but int64 in .*2026-01\.parquet; write them with one type",
    ),
    "a type that changes in Arrow": (
        arrow_files_whose_column_changes_type,
        AGE,
        TableError,
        r"2\.arrow: column 'age' is double, but int64 in .*1\.arrow; write them with one type",
    ),
    "an order that changes": (
        a_folder_with_another_column,
        AGE,
        TableError,
        r"2\.csv has another first line than .*1\.csv",
    ),
    "a password": (a_workbook_with_a_password, AGE, TableError, r"rows\.xlsx is protected by a password"),
    "a day that is none": (
        a_table,
        'age = {kind = "date", low = "2026-02-30", high = 2026-12-31, source = "form"}',
        DomainError,
        r"people\.toml: line 3, column 23: attributes\.age\.low: required: a day of the calendar",
    ),
    "a day that TOML has not": (
        a_table,
        'age = {kind = "date", low = 2026-02-30, high = 2026-12-31, source = "form"}',
        DomainError,
        r"people\.toml: line 3, column 29: 2026-02-30 is no day of the calendar",
    ),
    "what is not TOML": (a_table, "age = {", DomainError, r"people\.toml: line 3, column \d+: not TOML: "),
    "a cycle": (
        book(b"code,parent\n1,2\n2,1\n"),
        COLOUR,
        DomainError,
        r"book\.csv: line 2: parent: '1' is its own parent",
    ),
    "a code twice": (
        book(b"code,parent\n1,a\n1,b\n"),
        COLOUR,
        DomainError,
        r"book\.csv: line 3: code: .* another parent",
    ),
    "labels that clash": (
        book(b"code,label\n1,x\n2,x\n"),
        COLOUR,
        DomainError,
        r"book\.csv: line 3: label: 'x' is the",
    ),
    "two encodings": (
        book("code,label\n1,Zürich\n".encode() + "2,Genève\n".encode("latin-1")),
        COLOUR,
        DomainError,
        r"book\.csv: line 3: not in UTF-8",
    ),
}


def every_door(table, domain, folder):
    """What reads a domain's file: in Python, and on the command line."""
    vault = folder / "vault"
    yield lambda: read_domain(domain)
    yield lambda: fit_domain(table, domain)
    yield lambda: propose_domain(table, reuse=domain)
    yield lambda: Vault.init(vault, table=table, domain=domain, epsilon=1, neighbours="replace")
    for words in (
        ["domain", "check", domain],
        ["domain", "fit", table, domain],
        ["domain", "propose", table, "--from", domain],
        ["init", vault, "--table", table, "--domain", domain, "--epsilon", "1", "--neighbours", "replace"],
    ):
        yield lambda words=words: run(*map(str, words))


def run(*words):
    done = CliRunner().invoke(app, words)
    if done.exit_code:
        raise DomainError(" ".join(done.output.split()))


def test_every_door_names_the_file_that_is_wrong(tmp_path):
    table, domain = a_table(tmp_path), tmp_path / "p.toml"
    domain.write_text('name = "people"\n[attributes.age]\nkind = "integer"\nlow = 9\nhigh = 0\nsource = "form"\n')
    for door in every_door(table, domain, tmp_path):
        with pytest.raises(DomainError) as refused:
            door()
        assert f"{domain}: line 4: attributes.age.low: low = 9 is above high = 0" in str(refused.value)


@pytest.mark.parametrize(("make", "attribute", "kind", "message"), CASES.values(), ids=CASES)
def test_what_is_wrong_is_named_and_nothing_is_made(tmp_path, make, attribute, kind, message):
    table = make(tmp_path)
    (tmp_path / "people.toml").write_text(f'name = "people"\n[attributes]\n{attribute}\n')
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(DiscreetError, match=message) as refused:
        Vault.init(tmp_path / "vault", table=table, domain=tmp_path / "people.toml", epsilon=1, neighbours="replace")
    assert isinstance(refused.value, kind)
    assert sorted(tmp_path.rglob("*")) == before
