"""Two worker processes behind one socket, asked from outside: nothing is overspent, nothing is lost."""

import json
import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from urllib.parse import urlsplit

import pytest

from discreet.client import Client
from discreet.cube.cube import Cube
from discreet.errors import (
    AccessDenied,
    BudgetExceeded,
    DomainError,
    NotFound,
    QuotaExceeded,
    ServerError,
    UnsupportedQuery,
)
from discreet.remote.cubes import RemoteCube
from discreet.server.auth import add_user
from discreet.vault import Vault
from tests.patience import wait_until
from tests.server.conftest import served

pytestmark = pytest.mark.xdist_group("workers")  # one service for all of them, one after the other

ALL = "SELECT COUNT(*) FROM people"


def women(age):
    return f"SELECT COUNT(*) FROM people WHERE sex = 'F' AND age >= {age}"


@pytest.fixture(scope="module")
def service(tmp_path_factory, people_template):
    """A vault with ε = 10 behind two workers, and a way to become a user of it."""
    folder = tmp_path_factory.mktemp("workers")
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(folder))
        yield from serving(Vault.open(shutil.copytree(people_template, folder / "vault")))


def serving(vault):
    with served(vault, options=("--workers", "2", "--slot", "5", "--rate", "0")) as [address]:

        def user(name, role="analyst", quota=None):
            return Client(address, add_user(vault.path, name, role, quota=quota))

        yield vault, user


def kind_of(client, question, scale):
    """How it was answered; nothing was measured where a machine is so busy that nobody's answer came within the
    server's patience."""
    try:
        return client.ask(question, scale=scale).kind
    except (BudgetExceeded, QuotaExceeded):
        return "on its way"


def test_many_clients_at_once_spend_a_quota_to_the_last_and_no_further(service):
    vault, user = service
    ana = user("ana", quota="0.5")

    # All of them are about the women over 40, for whom ten fit; others are relaxed, and may measure a strip below.
    with ThreadPoolExecutor(8) as pool:
        kinds = list(pool.map(lambda age: kind_of(ana, women(age), 40), range(40)))
    assert kinds.count("measured") == 10
    assert vault.budget().by_user["ana"] == Fraction(1, 2)
    assert vault.budget().pending == ()


def test_many_clients_at_once_spend_the_budget_to_the_last_and_no_further(service):
    vault, user = service
    ben = user("ben")
    assert vault.ledger.left(vault.count(sex="M").where) == vault.ledger.budget.limit

    def asks(age):
        # Each costs 2 of the 10 that every man over 80 has.
        return kind_of(ben, f"SELECT COUNT(*) FROM people WHERE sex = 'M' AND age >= {age}", 1)

    with ThreadPoolExecutor(8) as pool:
        kinds = list(pool.map(asks, range(40, 80)))
    assert kinds.count("measured") >= 5
    assert "on its way" not in map(asks, range(40, 80))
    assert vault.budget().left == 0
    assert vault.ledger.spent_max == vault.ledger.budget.limit


def test_many_clients_at_once_who_ask_the_same_are_charged_once(service):
    vault, user = service
    fay, charges = user("fay"), vault.ledger.charges
    question = "SELECT sex, COUNT(*) FROM people WHERE sex IS NULL AND age > 50 GROUP BY sex"
    with ThreadPoolExecutor(8) as pool:
        kinds = [asked.result().kind for asked in [pool.submit(fay.ask, question, scale=30) for _ in range(16)]]
    assert (kinds.count("measured"), kinds.count("repeated")) == (1, 15)
    assert vault.ledger.charges == charges + 1


def test_a_client_that_hangs_up_does_not_lose_its_answer(service):
    vault, user = service
    eve = user("eve")
    address = urlsplit(eve.url)
    question = "SELECT COUNT(*) FROM people WHERE sex IS NULL AND age >= 33"
    body = json.dumps({"sql": question, "scale": 25}).encode()
    head = (
        f"POST /api/v1/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {eve.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    charges = vault.ledger.charges
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(head.encode() + body)
        wait_until(lambda: vault.ledger.charges > charges)
    wait_until(lambda: not vault.ledger.pending())
    again = eve.ask(question, scale=25)
    assert (again.kind, again.cost) == ("repeated", 0)
    assert vault.ledger.charges == charges + 1


def test_a_client_has_the_verbs_of_a_vault(service):
    vault, user = service
    ida = user("ida", "custodian")
    question = "SELECT COUNT(*) FROM people WHERE sex IS NULL AND age < 10"
    told = ida.explain(question, scale=100)
    assert (told.cost, told.forecasts[0].kinds) == (Fraction(2, 100), {"measured": 1})
    answer = ida.ask(question, scale=Fraction(100), confidence="0.9")
    here = vault.ask(question, scale=100, confidence="0.9")
    assert (answer.value, answer.interval()) == (here.value, here.interval())
    assert (answer.text, answer.asked, answer.confidence) == (here.text, here.asked, 0.9)
    by_sex = "SELECT sex, COUNT(*) FROM people WHERE age < 10 GROUP BY sex"
    ida.ask(by_sex, scale=100)
    grouped = ida.ask(by_sex, scale=100)
    assert [row.labels["sex"] for row in grouped.rows] == ["F", "M", "(missing)"]
    with pytest.raises(UnsupportedQuery, match=r"look at \.rows"):
        assert grouped.value
    assert ida.describe()["name"] == "people"
    assert ida.budget().by_user == vault.budget().by_user
    assert ida.budget().spent == vault.budget().spent
    assert ida.budget_map("sex", "income").shape == (3, 4)
    assert [entry["seq"] for entry in ida.entries()] == [entry["seq"] for entry in vault.entries()]
    last = [line["charge"] for line in ida.releases()][-1]
    assert ida.release(last) == json.loads(json.dumps(vault.release(last).to_json()))
    assert ida.facts.report()["facts"] == []
    assert ida.me()["role"] == "custodian"


def test_a_cube_is_published_browsed_and_saved_through_a_client(service, tmp_path):
    vault, user = service
    joe, kim = user("joe", "custodian"), user("kim")
    plan = joe.cubes.plan(epsilon="0.1", dimensions=["income"], cuboids=1)
    assert plan["planner"] == "optimal"
    with pytest.raises(AccessDenied, match="only a custodian"):
        kim.cubes.publish("c", epsilon="0.1")
    with pytest.raises(BudgetExceeded, match="nothing is left at some points"):
        joe.cubes.publish("c", epsilon=Fraction(1, 10), dimensions=["income"])  # the men have nothing left
    assert kim.cubes.published() == []
    made = Vault.init(tmp_path / "other", table=vault.location, domain=_domain(vault, tmp_path), epsilon=1,
                      neighbours="replace")  # fmt: skip
    with served(made) as [address]:
        boss = Client(address, add_user(made.path, "boss", "custodian"))
        told = []
        cube = boss.cubes.publish("c", epsilon="0.5", cuboids=2, progress=lambda *step: told.append(step))
        assert isinstance(cube, RemoteCube)
        assert boss.cubes.published() == ["c"]
        cube.save(tmp_path / "copy")
        local = Cube.load(tmp_path / "copy")
        assert cube.names == local.names
        assert (cube["sex", "income"].values == local["sex", "income"].values).all()
        assert cube.halfwidth("sex", confidence=0.5) == local.halfwidth("sex", confidence=0.5)
        women_only = cube.slice(sex="F")
        assert women_only.names == ("age", "income")
        assert (women_only["income"].values == local.slice(sex="F")["income"].values).all()
        assert boss.download("/cubes/c/download", [("by", "sex")]).startswith(b'"sex","count"')
        fact = boss.facts.add(ALL, 600)
        assert fact["fact"]["value"] == 600
        assert boss.buckets.published() == []
        published = boss.buckets.publish("b", sensitive="income", limits="0.9", columns=["age"])
        assert "not differential privacy" in published["guarantee"]
        assert [one["name"] for one in boss.buckets.published()] == ["b"]
        with pytest.raises(UnsupportedQuery, match="published before"):
            boss.buckets.publish("c", sensitive="income", limits="0.9", columns=["age"])
        _administered(boss)


def _administered(boss):
    """Users over HTTP: a token that works, and then does not."""
    ana = Client(boss.url, boss.add_user("ana", quota=Fraction(1, 3), expires="30d"))
    assert (ana.me()["role"], ana.me()["quota"]) == ("analyst", "1/3")
    assert [user["name"] for user in boss.users()] == ["boss", "ana"]
    for work in (ana.users, ana.log, lambda: ana.add_user("eve"), lambda: ana.revoke_user("boss")):
        with pytest.raises(AccessDenied):
            work()
    assert [line["verb"] for line in boss.log("boss", last=2)] == ["buckets publish", "user add"]
    with pytest.raises(AccessDenied, match="is you"):
        boss.revoke_user("boss")
    boss.revoke_user("ana")
    with pytest.raises(AccessDenied, match="not known"):
        ana.me()
    with pytest.raises(NotFound, match="no user ana"):
        boss.revoke_user("ana")


def _domain(vault, folder):
    (folder / "domain.toml").write_text(vault.ledger.header["domain"])
    return folder / "domain.toml"


def test_a_clients_errors_are_the_vaults_own(service):
    _, user = service
    lea = user("lea")
    cases = [
        (lambda: lea.ask("SELECT COUNT(*) FROM people WHERE weight > 3"), DomainError),
        (lambda: lea.ask("DROP TABLE people"), UnsupportedQuery),
        (lambda: lea.release(10**6), NotFound),
        (lambda: lea.cubes.open("../key"), NotFound),
        (lambda: Client(lea.url, "wrong").budget(), AccessDenied),
        (lambda: Client(lea.url).budget(), AccessDenied),
    ]
    for work, kind in cases:
        with pytest.raises(kind, match=lea.url):
            work()


@pytest.mark.parametrize("url", ["ftp://x", "localhost:80", "http://"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ServerError, match="no address"):
        Client(url)


def test_a_server_that_is_not_there_is_said_to_be_so():
    with pytest.raises(ServerError, match="cannot be reached"):
        Client("http://127.0.0.1:9", "t").budget()


def test_a_token_is_not_shown():
    assert "secret" not in repr(Client("http://localhost:1", "secret"))
