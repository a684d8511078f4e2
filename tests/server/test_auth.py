"""Users and tokens: shown once, kept as a hash, gone when revoked."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import AccessDenied, VaultError
from discreet.server.auth import USERS, add_user, authenticate, list_users, require_asking, revoke_user


def test_a_token_has_256_bits_and_only_its_hash_is_kept(tmp_path):
    token = add_user(tmp_path, "miner", "analyst")
    assert len(bytes.fromhex(token)) == 32
    kept = (tmp_path / USERS).read_text()
    assert token not in kept
    assert hashlib.sha256(token.encode()).hexdigest() in kept
    assert (tmp_path / USERS).stat().st_mode & 0o777 == 0o600
    assert authenticate(tmp_path, token).name == "miner"


def test_two_users_have_two_tokens_and_a_revoked_one_opens_nothing(tmp_path):
    first, second = add_user(tmp_path, "one", "analyst"), add_user(tmp_path, "two", "auditor")
    assert [user.name for user in list_users(tmp_path)] == ["one", "two"]
    revoke_user(tmp_path, "one")
    with pytest.raises(AccessDenied, match="not known"):
        authenticate(tmp_path, first)
    assert authenticate(tmp_path, second).role == "auditor"


@pytest.mark.parametrize("wrong", ["", "x", "0" * 64, "é" * 64])
def test_a_wrong_token_is_not_known(tmp_path, wrong):
    add_user(tmp_path, "miner", "analyst")
    with pytest.raises(AccessDenied, match="not known"):
        authenticate(tmp_path, wrong)


@pytest.mark.parametrize(("name", "role"), [("", "analyst"), ("a b", "analyst"), ("../x", "analyst"), ("x", "king")])
def test_a_user_that_makes_no_sense_is_refused(tmp_path, name, role):
    with pytest.raises(AccessDenied):
        add_user(tmp_path, name, role)
    assert list_users(tmp_path) == []


def test_names_are_unique_also_when_added_at_once(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        added = list(pool.map(lambda i: _tries(tmp_path, f"user{i % 4}"), range(16)))
    assert sum(added) == 4
    assert sorted(user.name for user in list_users(tmp_path)) == [f"user{i}" for i in range(4)]


def _tries(home, name):
    try:
        add_user(home, name, "analyst")
    except AccessDenied:
        return False
    return True


def test_auditors_look_and_do_not_ask(tmp_path):
    add_user(tmp_path, "eye", "auditor")
    with pytest.raises(AccessDenied, match="may look but not ask"):
        require_asking(list_users(tmp_path)[0])


def test_a_damaged_file_of_users_opens_nothing(tmp_path):
    token = add_user(tmp_path, "miner", "analyst")
    (tmp_path / USERS).write_text("{")
    with pytest.raises(VaultError, match="damaged"):
        authenticate(tmp_path, token)


def test_the_command_line_adds_lists_and_revokes(make_vault):
    vault = str(make_vault("hospital").path)
    run = CliRunner().invoke
    added = json.loads(run(app, ["user", "add", vault, "miner", "--json"]).output)
    assert added["role"] == "analyst"
    assert json.loads(run(app, ["user", "list", vault, "--json"]).output)["users"][0]["name"] == "miner"
    assert added["token"] not in run(app, ["user", "list", vault]).output
    assert run(app, ["user", "revoke", vault, "miner"]).exit_code == 0
    assert run(app, ["user", "revoke", vault, "miner"]).exit_code == 1
    assert run(app, ["user", "add", vault + "x", "miner"]).exit_code == 1
