"""Six files as they come, which docs/how-to/six-files.md goes from to a first answer.

Two are published: UCI's Adult, byte by byte, and ten columns of its Census-Income. They lie in shared/data beside the
repository, and not in it. The other four are made here.
"""

import csv
import gzip
import hashlib
import shutil
from datetime import date, timedelta
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat

from tests.workbook import workbook

DATA = Path(__file__).parents[2] / "shared" / "data"
ADULT_SHA256 = "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
NEEDED = ("adult.csv.gz", "census_income_kdd_adults10.csv.gz")
ROWS = 3000


def write_six_files(folder: Path) -> None:
    """Put all six into a folder. Raises FileNotFoundError where the published ones are not to be had."""
    _adult(folder / "adult.data")
    shutil.copy(DATA / NEEDED[1], folder / "census_income.csv.gz")
    _wide(folder / "answers.csv")
    _survey(folder / "survey.sav")
    _sheet(folder / "staff.xlsx")
    _months(folder / "visits")


def _adult(path: Path) -> None:
    """As UCI ships it: a blank behind every comma, no names, an empty line at the end."""
    with gzip.open(DATA / NEEDED[0], "rt", encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))[1:]
    content = "".join(", ".join(row) + "\n" for row in rows).encode() + b"\n"
    assert hashlib.sha256(content).hexdigest() == ADULT_SHA256
    path.write_bytes(content)


def _wide(path: Path) -> None:
    """200 questions, answered 1 to 5; what was left out is empty."""
    names = [f"q{number:03d}" for number in range(1, 201)]
    with path.open("w", encoding="utf-8", newline="") as stream:
        lines = csv.writer(stream, delimiter=";")
        lines.writerow(names)
        for row in range(ROWS):
            lines.writerow([(row * place + row // 7) % 6 or "" for place in range(1, 201)])


def _survey(path: Path) -> None:
    answers = pd.DataFrame(
        {
            "sex": [1.0 + row % 2 for row in range(ROWS)],
            "trust": [float((1, 2, 2, 3, 9)[row % 5]) for row in range(ROWS)],
            "weight": [0.5 + row % 3 for row in range(ROWS)],
        }
    )
    pyreadstat.write_sav(
        answers,
        path,
        column_labels={"sex": "Sex of the respondent", "trust": "Q7. How much do you trust the courts?"},
        variable_value_labels={
            "sex": {1.0: "Male", 2.0: "Female"},
            "trust": {1.0: "not at all", 2.0: "somewhat", 3.0: "fully", 9.0: "no answer"},
        },
        missing_ranges={"trust": [9.0]},
    )


def _sheet(path: Path) -> None:
    """What an office keeps: names in the first row, numbers and words below."""
    header = "".join(f'<c t="inlineStr"><is><t>{name}</t></is></c>' for name in ("grade", "part time"))
    rows = "".join(
        f'<row><c><v>{1 + row % 24}</v></c><c t="inlineStr"><is><t>{"yes" if row % 3 else "no"}</t></is></c></row>'
        for row in range(ROWS)
    )
    workbook(path, {"Staff": f"<row>{header}</row>{rows}"})


def _months(folder: Path) -> None:
    folder.mkdir()
    for month in range(1, 13):
        days = [date(2026, month, 1) + timedelta(day % 28) for day in range(ROWS // 12)]
        wards = [("surgery", "medicine", "children")[day % 3] for day in range(len(days))]
        pq.write_table(pa.table({"day": days, "ward": wards}), folder / f"2026-{month:02d}.parquet")
