"""The audit of a vault that has published a wide cube made of residuals."""

import json
import shutil
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from discreet.audit.report import audit_vault
from discreet.cube.folder import SOURCES
from discreet.release.package import PACKAGE
from discreet.vault import Vault
from tests.audit.insider import Journal, failures, forget_receipts

NAMES = [f"q{place}" for place in range(28)]
BUDGETS = {
    "add-remove": {"rho": 1, "neighbours": "add-remove"},
    "replace": {"rho": 1, "neighbours": "replace"},
    "three rows": {"rho": 1, "neighbours": "replace", "id": "person", "max_rows": 3},
    "Gaussian": {"mu": 1, "neighbours": "replace", "id": "person", "max_rows": 3},
}


@pytest.fixture(scope="module", params=BUDGETS.values(), ids=BUDGETS)
def published(request, tmp_path_factory):
    """28 questions with 2 answers, all pairs of which were published."""
    folder = tmp_path_factory.mktemp("survey")
    survey = pd.DataFrame(np.random.default_rng(8).integers(0, 2, (500, 28)), columns=NAMES)
    survey["person"] = np.arange(500) // 2
    survey.to_parquet(folder / "survey.parquet")
    parts = [f'[attributes.{name}]\nkind = "integer"\nlow = 0\nhigh = 1\nsource = "form"' for name in NAMES]
    ids = ['null_ids = "drop"'] if "id" in request.param else []
    (folder / "survey.toml").write_text("\n".join(['name = "survey"', *ids, *parts]))
    place = {"table": folder / "survey.parquet", "domain": folder / "survey.toml"}
    vault = Vault.init(folder / "vault", **place, **request.param)
    cube = vault.cubes.publish(vault.cubes.plan(cuboids=2, **{vault.ledger.budget.option: "1/2"}))
    assert cube.plan.basis == "residuals"
    cube.save(folder / "cube")
    forget_receipts(vault)
    return folder


@pytest.fixture(autouse=True)
def folder(published, tmp_path, monkeypatch):
    """A copy of the vault and of what it published, for each test."""
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_passes():
    audit = audit_vault("vault")
    assert audit.holds
    assert not [finding.what for finding in audit.findings if "receipt" not in finding.what]
    assert audit.spent == Fraction(1, 2)
    assert audit["published"].detail == "1 folder found"


def test_a_cost_that_is_a_unit_short_is_found():
    journal = Journal()
    charge = journal.first("charge")
    journal[charge]["cost"]["everywhere"] -= 1
    journal.write()
    audit = audit_vault("vault")
    assert failures(audit) >= {"costs"}
    assert "and its plan needs" in audit["costs"].findings[0].what


@pytest.mark.parametrize(
    "forge",
    [
        lambda line: line.update(noise={"gaussian": str(Fraction(line["noise"]["gaussian"]) / 2)}),
        lambda line: line.update(noise={"laplace": "100"}),
        lambda line: line["query"]["residuals"]["by"].append(["q3"]),
    ],
    ids=["half the noise", "Laplace noise", "one residual more"],
)
def test_another_plan_for_the_same_cost_is_found(forge):
    journal = Journal()
    lines = journal[journal.first("charge")]["content"]
    forge(next(line for line in lines if "residuals" in line["query"]))
    journal.write()
    assert "costs" in failures(audit_vault("vault"))


def test_a_folder_with_other_residuals_is_found(folder):
    vault = Vault.open("vault")
    vault.cubes.publish(vault.cubes.plan(cuboids=2, **{vault.ledger.budget.option: "1/8"})).save("other")
    package = json.loads((folder / "cube" / PACKAGE).read_text())
    assert "the residuals of cuboids" in package["resources"][0]["description"]
    shutil.copy(folder / "other" / SOURCES, folder / "cube" / SOURCES)
    assert "published" in failures(audit_vault("vault"))
