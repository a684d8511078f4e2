"""A vault over codes of a codebook: labels wherever people read, and a journal that needs no other file."""

from pathlib import Path

import pyarrow as pa
import pytest

from discreet.cube.cube import Cube
from discreet.vault import Vault

BOOK = "code,label,parent\nI,Circulatory system,\n401,Hypertension,I\n410,Infarction,I\n250,Diabetes,\n"
DOMAIN = """name = "stays"
[attributes.diag]
kind = "category"
values_from = "icd9.csv"
prefix = true
outside = "other"
source = "ICD-9"
"""


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vault:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "icd9.csv").write_text(BOOK)
    (tmp_path / "stays.toml").write_text(DOMAIN)
    rows = pa.table({"diag": ["401"] * 50 + ["401.9", "4019"] * 25 + ["410"] * 30 + ["250.01", "25"] * 10 + [None]})
    given = {"table": rows, "domain": tmp_path / "stays.toml", "epsilon": 1_000_000, "neighbours": "replace"}
    Vault.init(tmp_path / "vault", **given)
    (tmp_path / "icd9.csv").unlink()
    return Vault.open(tmp_path / "vault")


def test_an_answer_shows_code_and_label_in_every_form(vault: Vault) -> None:
    answer = vault.ask("SELECT diag, COUNT(*) FROM stays GROUP BY diag", scale="0.001")
    labels = ["401 Hypertension", "410 Infarction", "250 Diabetes", "(other)"]
    assert [line[0] for line in answer.table()[1]] == labels
    assert [row.value for row in answer.rows] == [100, 30, 10, 11]
    assert answer.to_csv().splitlines()[1].startswith("401 Hypertension,")
    assert [row["labels"]["diag"] for row in answer.to_json()["rows"]] == labels
    assert answer.to_arrow()["diag"].to_pylist() == labels


@pytest.mark.parametrize("literal", ["410", "Infarction", "410 Infarction"])
def test_a_code_is_asked_for_by_each_of_its_names(vault: Vault, literal: str) -> None:
    answer = vault.ask(f"SELECT COUNT(*) FROM stays WHERE diag = '{literal}'", scale="0.001")
    assert answer.value == 30
    assert answer.asked == "diag = '410'"


def test_cubes_and_their_files_have_the_labels(vault: Vault, tmp_path: Path) -> None:
    cube = vault.cubes.publish(vault.cubes.plan(epsilon=1000))
    labels = ["401 Hypertension", "410 Infarction", "250 Diabetes", "(other)"]
    assert cube["diag"].coords["diag"].values.tolist() == labels
    cube.save(tmp_path / "cube")
    assert Cube.load(tmp_path / "cube")["diag"].coords["diag"].values.tolist() == labels
