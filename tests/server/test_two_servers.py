"""Two organisations, two processes, one miner who speaks HTTP only."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from discreet.mining.implication import implication
from discreet.mining.parties import party_of
from discreet.query.subset import Seeded
from discreet.server.auth import add_user
from tests.server.conftest import call, served

ASK = "/api/v1/sulq/ask"
BY_HAND, BY_METHOD = 400, 1_200
BEYOND = 1e-9
"""The correlation by hand is 0.28 ± 0.029 (one standard deviation), the gap 0.20 ± 0.019: 6.2 and 7.8 of them."""


@pytest.mark.alarm(BEYOND)
def test_a_miner_learns_across_two_servers_what_neither_knows(make_vault, population):
    vaults = [make_vault("hospital", BY_HAND + BY_METHOD), make_vault("employer", BY_HAND + BY_METHOD)]
    tokens = [add_user(vault.path, "miner", "analyst") for vault in vaults]
    with served(*vaults) as addresses:
        parties = [party_of(address, token) for address, token in zip(addresses, tokens, strict=True)]
        assert parties[0].roster == parties[1].roster
        # By hand: smokers above their share in a subset go with absences above theirs.
        subsets = [Seeded(seed) for seed in range(BY_HAND)]
        counts = [parties[0].ask_subsets(subsets, "smoker"), parties[1].ask_subsets(subsets, "absent")]
        excess = [answer.values - answer.sizes * answer.values.sum() / answer.sizes.sum() for answer in counts]
        assert np.corrcoef(*excess)[0, 1] > 0.1
        # And by the miner's own method.
        found = implication((parties[0], "smoker"), (parties[1], "absent"), queries=BY_METHOD)
        smoker, absent = population["smoker"], population["absent"]
        truth = absent[smoker].mean() - absent.mean()
        assert abs(found.gap.value - truth) < 0.15
        assert parties[0].queries_left == parties[1].queries_left == 0
    for vault in vaults:
        assert vault.budget().left == 0


def test_the_last_query_is_the_last_also_for_two_clients_at_once_and_after_a_restart(make_vault):
    vault = make_vault("hospital", 25)
    token = add_user(vault.path, "miner", "analyst")
    body = {"predicate": "smoker", "subsets": ["everyone"]}
    with served(vault, vault) as addresses:
        with ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(lambda i: call(addresses[i % 2], ASK, body, token), range(40)))
        assert sorted({status for status, _ in replies}) == [200, 409]
        assert sum(status == 200 for status, _ in replies) == 25
        assert {reply["error"]["kind"] for status, reply in replies if status == 409} == {"BudgetExceeded"}
    with served(vault) as [again]:
        assert call(again, ASK, body, token)[0] == 409
        assert call(again, "/api/v1/sulq", token=token)[1]["queries_left"] == 0
        assert call(again, "/api/v1/health")[1] == {"status": "ok"}
