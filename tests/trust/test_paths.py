"""What runs between a charge and its answer depends on the question and on random bits, and on no row."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from discreet.noise.law import Law
from discreet.query.query import Query
from discreet.release import gate as gating
from tests.trust.paths import MEASURED, PLANTED, TABLES, gated, run


def told_by(script: str, **settings: str) -> Any:
    """What a script of this folder prints, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.trust.{script}"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, **settings},
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What tests/trust/paths.py finds where nothing is compiled, so that every branch is a line that runs or not."""
    return told_by("paths", NUMBA_DISABLE_JIT="1", XDG_STATE_HOME=str(tmp_path_factory.mktemp("state")))


def test_every_kind_of_query_and_of_noise_is_looked_at():
    measurements = [measurement for _, several in MEASURED.values() for measurement in several]
    assert {type(measurement.query) for measurement in measurements} == set(get_args(Query))
    assert {type(measurement.law) for measurement in measurements} == set(get_args(Law))


@pytest.mark.parametrize("measured", MEASURED)
def test_all_tables_take_the_same_steps_with_values_of_the_same_sizes(measured, found):
    assert found[measured]["steps"] > 1000
    assert found[measured]["parted"] == {}


@pytest.mark.parametrize("measured", MEASURED)
def test_what_was_looked_at_line_by_line_is_what_runs_compiled(measured, found, monkeypatch):
    monkeypatch.setattr(gating, "require_production", lambda _: None)
    budget, measurements = MEASURED[measured]
    with gated(budget) as gate:
        for name, fill in TABLES.items():
            _, answers = run(gate, measurements, fill)
            assert answers == found[measured]["answers"][name]
    assert len({json.dumps(answers) for answers in found[measured]["answers"].values()}) > 1


@pytest.mark.parametrize("planted", PLANTED)
def test_a_step_that_depends_on_rows_is_found(planted, found):
    assert found[planted]["parted"]


def test_the_compiler_makes_no_branch_that_depends_on_a_gap(tmp_path):
    """And one that it makes of a product with 0 or 1 would be seen."""
    compiled = told_by("machine_code", NUMBA_CACHE_DIR=str(tmp_path))
    assert compiled["ours"]["found"] == []
    assert compiled["ours"]["branches"] > 10
    assert compiled["planted"]["found"]
