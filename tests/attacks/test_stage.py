"""Made-up people stand where a vault counts them, on domains of all shapes."""

import numpy as np
import pytest

from discreet.attacks.stage import ONE, ZERO, coins, set_stage
from discreet.domain.read import parse_domain
from discreet.errors import UnsupportedQuery
from discreet.noise.bits import SeededBits
from discreet.sql.parse import parse
from discreet.vault import Vault

HEAD = 'name = "people"\n'
AGE = '[attributes.age]\nkind = "integer"\nlow = 10\nhigh = 49\noutside = "other"\nnull = true\nsource = "made up"\n'
SEX = '[attributes.sex]\nkind = "category"\nvalues = ["F", "M"]\nsource = "made up"\n'
PAY = '[attributes.pay]\nkind = "bins"\nedges = [-inf, 0, 0.1, 10, inf]\nsource = "made up"\n'
FLAGS = "".join(
    f'[attributes.f{i}]\nkind = "category"\nvalues = ["no", "yes"]\nnull = true\nsource = "made up"\n' for i in range(6)
)
HUGE = '[attributes.code]\nkind = "integer"\nlow = 0\nhigh = 99999999\nsource = "made up"\n'
DOMAINS = {
    "ages alone": HEAD + AGE,
    "three kinds": HEAD + AGE + SEX + PAY,
    "two values each": HEAD + FLAGS,
    "a huge one": HEAD + HUGE + SEX,
}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.parametrize("name", DOMAINS)
def test_counts_of_a_vault_are_those_of_the_people_on_the_stage(name, width, neighbours, tmp_path):
    """Asked with hardly any noise."""
    domain = parse_domain(DOMAINS[name])
    if neighbours == "replace" and len(domain.attributes) == 1:
        with pytest.raises(UnsupportedQuery, match="too few values"):
            set_stage(domain, neighbours, width, 20)
        return
    stage = set_stage(domain, neighbours, width, 20)
    assert 1 <= stage.width <= width
    assert 1 <= stage.blocks <= 20
    bits = SeededBits(5)
    ones, zeros = (coins(stage.shape, bits) + 2 * coins(stage.shape, bits) for _ in range(2))
    (tmp_path / "domain.toml").write_text(DOMAINS[name])
    vault = Vault.init(
        tmp_path / "vault",
        table=stage.table(ones, zeros, 1, None),
        domain=tmp_path / "domain.toml",
        epsilon=10_000,
        neighbours=neighbours,
    )
    for run in range(stage.runs):
        cells = list(range(0, stage.width, 2))
        for code, people in ((ONE, ones), (ZERO, zeros))[: 1 + (stage.secret is not None)]:
            rows = vault.ask(stage.sql(run, cells, code), scale="1/1000").rows
            assert [row.value for row in rows] == people[run][:, cells].sum(axis=1).tolist()


def test_what_is_asked_is_the_region_that_is_measured():
    stage = set_stage(parse_domain(DOMAINS["ages alone"]), "add-remove", 3, 5)
    question = parse(stage.sql(1, [0, 2]), stage.domain)
    assert question.where == stage.query(1, [0, 2]).where
    inside = stage.within(question.where, 1, 0)
    assert inside.tolist() == [True, False, True]
    assert not stage.within(question.where, 0, 0).any()


def test_coins_are_fair_and_each_is_its_own():
    tossed = coins((64, 1000), SeededBits(3))
    assert abs(tossed.mean() - 0.5) < 5 * 0.5 / np.sqrt(64_000)
    assert np.abs(np.corrcoef(tossed[:8].astype(float)) - np.eye(8)).max() < 5 / np.sqrt(1000)
