"""Three tables of people who never lived, drawn by a seed, and vaults over them: what the listed questions are about.

`people` is a survey, a row each; `encounters` a hospital register with up to six rows a patient, of which a vault keeps
three; `visits` the register of an emergency room, with dates. All hold values beyond their domains: ages to clamp,
occupations and diagnoses to call other, weights to drop.
Every group that a question asks for has somebody in it, so that a line of noise can be told from a line of people.
"""

from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.vault import Vault

QUESTIONS = Path(__file__).parents[1] / "fixtures" / "sql" / "questions"
TABLES = ("people", "encounters")
VISITS = "visits"
"""What the questions are about that were written after the code."""
LOOKUPS = {
    "people": {"regions": "region", "occupations": "occupation"},
    "encounters": {"icd9": "code", "months": "month"},
    "visits": {"units": "unit", "triage_codes": "code"},
}
"""Public tables of each vault, with their keys: NAME.csv."""
ID, MAX_ROWS = "patient", 3
EPSILON = {"people": 6_000_000, "encounters": 6_000_000, "visits": 6_000_000}
"""Nearly the largest that there is."""
SCALE = "0.00001"
"""In people: discrete noise of this scale is 0 for counts, and for sums of up to 1,000 grains a person."""

_PEOPLE, _PATIENTS, _VISITS, _SEED = 6_000, 2_600, 3_000, 20261116
_REGIONS = ["Arden", "Brook", "Corby", "Dale", "Esk", "Fenn", "Gale", "Holt"]
_EDUCATION = ["none", "school", "vocational", "bachelor", "master"]
_OCCUPATIONS = ["Director", "Store manager", "Engineer", "Lawyer", "Nurse", "Teacher", "Cleaner", "Cook", "Sales clerk",
                "Builder", "Driver", "Farmer", "Astronaut", None]  # fmt: skip
_QUARTERS = [f"{year}-{month:02d}-01" for year in (2021, 2022, 2023) for month in (1, 4, 7, 10)]
_MONTHS = [f"{year}-{month:02d}-01" for year in (2023, 2024) for month in range(1, 13)]
_CODES = ["250", "276", "401", "410", "414", "427", "428", "486", "491", "493", "518", "584", "599", "682", "786",
          "V45", "E888"]  # fmt: skip
_UNITS = ["Cardiology", "Neurology", "General", "Trauma", "Ortho"]
_OUTCOMES = ["admitted", "discharged", "left", "died", "transferred"]
_HOSPITALS = ["St Anne", "Mercy", "General", "Lakeside", "Hillview", "Riverside"]


@cache
def table(name: str) -> pa.Table:
    """One of the tables, the same each time."""
    return {"people": _people, "encounters": _encounters, "visits": _visits}[name]()


def vault_over(name: str, path: Path) -> Vault:
    """A new vault over a table, with so much budget that there is hardly noise."""
    unit: dict[str, Any] = {"id": ID, "max_rows": MAX_ROWS} if name == "encounters" else {}
    budget: dict[str, Any] = {"epsilon": EPSILON[name], "neighbours": "add-remove"}
    vault = Vault.init(path, table=table(name), domain=QUESTIONS / f"{name}.toml", **budget, **unit)
    for lookup, key in LOOKUPS[name].items():
        vault.lookups.add(QUESTIONS / f"{lookup}.csv", name=lookup, key=key)
    return vault


def _people() -> pa.Table:
    rng, n = np.random.default_rng(_SEED), _PEOPLE
    age = np.clip(rng.normal(42, 24, n), 0, 104).astype(int)
    education = rng.choice(5, n, p=(0.15, 0.3, 0.2, 0.2, 0.15))
    works = (age >= 15) & (rng.random(n) < np.where(age < 67, 0.75, 0.2))
    hours = np.where(works, np.clip(rng.normal(36 + education - (age - 40) / 8, 12, n), 1, 90), 0).astype(int)
    income = 1000 * np.clip(rng.gamma(1.6, 16 + 5 * education + hours / 3, n), 0, 230).astype(int)
    married = rng.random(n) < np.where(age < 18, 0.02, 0.3 + age / 250)
    children = np.minimum(rng.poisson(np.where(married, 1.7, 0.7)), 8)
    return pa.table(
        {
            "age": age,
            "sex": _chosen(rng, ["F", "M", None], n, (0.5, 0.46, 0.04)),
            "region": _chosen(rng, _REGIONS, n, np.array([9, 16, 12, 7, 13, 10, 20, 13]) / 100),
            "education": [_EDUCATION[code] for code in education],
            "occupation": _chosen(rng, _OCCUPATIONS, n, np.array([3, 5, 9, 4, 8, 9, 7, 6, 10, 8, 7, 5, 6, 13]) / 100),
            "hours": hours,
            "income": income,
            "married": married,
            "children": children,
            "weight": rng.integers(1, 42, n),
            "interviewed": _chosen(rng, _QUARTERS, n, np.arange(20, 32) / sum(range(20, 32))),
        }
    )


def _encounters() -> pa.Table:
    rng = np.random.default_rng(_SEED + 1)
    times = rng.choice((1, 2, 3, 4, 6), _PATIENTS, p=(0.45, 0.25, 0.15, 0.1, 0.05))
    patient = np.repeat(np.arange(_PATIENTS), times)
    n = patient.size
    age = np.clip(rng.normal(61, 20, _PATIENTS), 0, 101).astype(int)[patient]
    gender = rng.choice(3, _PATIENTS, p=(0.52, 0.45, 0.03))[patient]
    days = np.clip(rng.gamma(1.8, 2 + age / 60, n), 1, 20).astype(int)
    medications = np.clip(days + rng.poisson(7, n), 1, 40)
    likely = np.array([12, 5, 9, 7, 8, 6, 11, 8, 4, 3, 5, 4, 5, 4, 4, 3, 2]) / 100
    return pa.table(
        {
            ID: pa.array(patient, mask=rng.random(n) < 0.01),
            "admitted": _chosen(rng, _MONTHS, n, np.arange(40, 64) / sum(range(40, 64))),
            "hospital": _chosen(rng, _HOSPITALS, n, np.array([14, 22, 27, 12, 9, 16]) / 100),
            "admission": _chosen(rng, ["emergency", "urgent", "elective", None], n, (0.5, 0.2, 0.25, 0.05)),
            "diag_1": _chosen(rng, _CODES, n, likely),
            "diag_2": _chosen(rng, [*_CODES, None], n, np.append(likely * 0.8, 0.2)),
            "diag_3": _chosen(rng, [*_CODES, None], n, np.append(likely * 0.5, 0.5)),
            "age": age,
            "gender": np.array(["Female", "Male", "Unknown"])[gender],
            "days": days,
            "procedures": np.minimum(rng.poisson(1.4, n), 8),
            "medications": medications,
            "insulin": _chosen(rng, ["No", "Steady", "Up", "Down"], n, (0.45, 0.3, 0.13, 0.12)),
            "readmitted": _chosen(rng, ["NO", "<30", ">30"], n, (0.55, 0.12, 0.33)),
            "died": rng.random(n) < 0.01 + age / 1500,
            "charges": 100 * np.clip(rng.gamma(1.3, 18 + 4 * days, n), 0, 600).astype(int),
        }
    )


def _visits() -> pa.Table:
    rng, n = np.random.default_rng(_SEED + 2), _VISITS
    days = [date(2023, 1, 1) + timedelta(day) for day in range(731)]
    arrived = [days[day] for day in (*range(len(days)), *rng.integers(0, len(days), n - len(days)))]

    def some(values: Any, missing: float) -> pa.Array:
        return pa.array(values, mask=rng.random(n) < missing)

    return pa.table(
        {
            "arrived": arrived,
            "month": [day.replace(day=1) for day in arrived],
            "triage": some(rng.choice((1, 2, 3, 4, 5), n, p=(0.05, 0.15, 0.4, 0.3, 0.1)), 0.03),
            "unit": _chosen(rng, _UNITS, n, (0.2, 0.1, 0.4, 0.1, 0.2)),
            "sex": _chosen(rng, ["F", "M", None], n, (0.48, 0.47, 0.05)),
            "age": some(np.clip(rng.normal(50, 25, n), 0, 110).astype(int), 0.02),
            "wait": some(np.clip(rng.gamma(1.3, 60, n), 0, 600).astype(int), 0.05),
            "insured": some(rng.random(n) < 0.8, 0.1),
            "outcome": _chosen(rng, _OUTCOMES, n, (0.3, 0.55, 0.08, 0.02, 0.05)),
        }
    )


def _chosen(rng: np.random.Generator, values: list[str | None], size: int, chances: Any) -> list[str | None]:
    return [values[code] for code in rng.choice(len(values), size, p=chances)]
