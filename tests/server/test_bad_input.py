"""What no honest client sends, to a server in a process of its own: each gets a clear answer, and it goes on."""

import http.client
import json
import os
import shutil
import socket
import struct
import subprocess
from contextlib import contextmanager, nullcontext, suppress
from urllib.parse import urlsplit

import pytest

from discreet.server.auth import add_user, revoke_user
from discreet.vault import Vault
from tests.patience import PATIENCE
from tests.server.conftest import call, served

pytestmark = pytest.mark.xdist_group("workers")

COUNT = {"sql": "SELECT COUNT(*) FROM people WHERE age < 30", "scale": 40}


@pytest.fixture(scope="module")
def service(tmp_path_factory, people_template):
    """One server for all of what follows: its vault, address, and the tokens of an analyst and a custodian."""
    folder = tmp_path_factory.mktemp("bad")
    with pytest.MonkeyPatch.context() as here, small_or_plain(folder) as disk:
        here.setenv("XDG_STATE_HOME", str(folder))
        vault = Vault.open(shutil.copytree(people_template, disk / "vault"))
        tokens = {name: add_user(vault.path, name, role) for name, role in (("ana", "analyst"), ("boss", "custodian"))}
        with served(vault, options=("--rate", "0", "--slot", "0")) as [address]:
            yield vault, address, tokens


@contextmanager
def small_or_plain(folder):
    """Three megabytes where they can be mounted, so that a disk can be filled; else any folder."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "discreet-test", str(disk)]
    mounted = shutil.which("mount") and not subprocess.run(mount, capture_output=True, check=False).returncode
    yield disk
    if mounted:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def still_serves(address, token):
    return call(address, "/api/v1/me", token=token)[0] == 200


def test_a_token_that_is_missing_wrong_revoked_or_odd_opens_nothing(service):
    vault, address, tokens = service
    gone = add_user(vault.path, "gone", "custodian")
    revoke_user(vault.path, "gone")
    odd = ("x", "0" * 64, gone, tokens["ana"][:-1], tokens["ana"].upper() + " ", "%00", "a" * 60_000)
    for token in (None, *odd):
        status, body = call(address, "/api/v1/ask", COUNT, token)
        assert (status, body["error"]["kind"]) == (401, "AccessDenied"), token and token[:70]
    for header in ("Basic YTpi", "Bearer", f"Token {tokens['ana']}"):
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)
        connection.request("GET", "/api/v1/me", headers={"Authorization": header})
        assert connection.getresponse().status == 401
    assert vault.ledger.charges == 0
    assert still_serves(address, tokens["ana"])


def test_nobody_spends_another_analysts_quota_or_asks_beyond_their_role(service):
    vault, address, _ = service
    rich, poor = (
        add_user(vault.path, name, "analyst", quota=quota) for name, quota in (("rich", "1"), ("poor", "0.01"))
    )
    assert call(address, "/api/v1/ask", {**COUNT, "user": "rich"}, poor)[0] == 400
    assert call(address, "/api/v1/ask", COUNT, poor)[0] == 409
    assert call(address, "/api/v1/ask", COUNT, rich)[0] == 200
    assert list(vault.budget().by_user) == ["rich"]
    for path, body in (("cubes/c", {"epsilon": "1"}), ("users", {"name": "x"}), ("facts", {"sql": "x", "value": 1})):
        assert call(address, f"/api/v1/{path}", body, rich)[0] == 403


@pytest.mark.parametrize("sql", ["DROP TABLE people", "SELECT * FROM people", "SELECT name FROM people; SELECT 1",
                                 "COPY people TO 'x.csv'", "ATTACH 'x' AS y", "SELECT COUNT(*) FROM read_csv('/etc/x')",
                                 "SELECT COUNT(*) FROM users", "PRAGMA database_list", "INSERT INTO people VALUES (1)",
                                 "SELECT getenv('HOME')", "(" * 5000, "\x00", ""])  # fmt: skip
def test_sql_for_what_nobody_may_do_is_refused_by_name(service, sql):
    _, address, tokens = service
    status, body = call(address, "/api/v1/ask", {"sql": sql}, tokens["boss"])
    assert (status, body["error"]["kind"]) in {(400, "UnsupportedQuery"), (400, "UnknownTable"), (400, "DomainError")}
    assert "/tmp" not in body["error"]["message"]


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/api/v1/cubes/..%2f..%2fkey", "/api/v1/cubes/%2e%2e/cuboid",
                                  "/api/v1/buckets/..%5cx/files/st.parquet", "/assets/../../page.py",
                                  "/assets/%2e%2e%2fpage.py", "/api/v1/jobs/.hidden", "/api/v1/cubes/one%00",
                                  "//evil.example/x", "/api/v1/releases/../users", "/api/v1/releases/99999999999999999",
                                  "/login/../api/v1/users"])  # fmt: skip
def test_path_tricks_find_nothing(service, path):
    _, address, tokens = service
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)
    connection.request("GET", path, headers={"Authorization": f"Bearer {tokens['ana']}"})
    reply = connection.getresponse()
    text = reply.read().decode()
    assert reply.status in (303, 400, 403, 404), text[:200]
    assert "root:" not in text
    assert "import" not in text


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Length": str(100 << 20)}, b"{}", None),  # claims more than it sends, and hangs up
        ({}, b"{" * 9_000_000, 413),
        ({}, b"\xff\xfe", 400),
        ({}, b"[" * 100_000, 400),
        ({}, b'{"sql": 5}', 400),
        ({}, json.dumps({"sql": "x" * 200_000}).encode(), 400),
        ({"Transfer-Encoding": "chunked"}, b"zz\r\n\r\n", 400),
    ],
)
def test_bodies_that_are_too_large_or_none_are_refused(service, headers, body, status):
    _, address, tokens = service
    place = urlsplit(address)
    lines = {"Host": "x", "Authorization": f"Bearer {tokens['ana']}", "Content-Type": "application/json",
             "Content-Length": str(len(body)), "Connection": "close", **headers}  # fmt: skip
    if "Transfer-Encoding" in headers:
        del lines["Content-Length"]
    head = "POST /api/v1/ask HTTP/1.1\r\n" + "".join(f"{key}: {value}\r\n" for key, value in lines.items()) + "\r\n"
    with socket.create_connection((place.hostname, place.port), timeout=PATIENCE) as client:
        try:
            client.sendall(head.encode() + body)
        except OSError:
            assert status == 413  # it did not read on
        if status is not None:
            answer = b""
            with suppress(ConnectionResetError) if status == 413 else nullcontext():
                answer = client.recv(200)
            assert f" {status} ".encode() in answer or (status == 413 and not answer)
    assert still_serves(address, tokens["ana"])


@pytest.mark.parametrize(
    "noise", [b"\x00" * 500, b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", bytes(range(255, 0, -3))]
)
def test_what_is_no_http_at_all_ends_its_own_connection(service, noise):
    _, address, tokens = service
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port), timeout=PATIENCE) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sendall(noise)
    assert still_serves(address, tokens["ana"])


def test_a_full_disk_is_a_clear_answer_nothing_is_spent_and_it_goes_on_when_there_is_room(service):
    vault, address, tokens = service
    if os.statvfs(vault.path).f_blocks * os.statvfs(vault.path).f_frsize > 10 << 20:
        pytest.skip("a small file system cannot be mounted here")
    assert call(address, "/api/v1/ask", {**COUNT, "scale": 60}, tokens["ana"])[0] == 200
    ballast = vault.path / "ballast"
    with suppress(OSError), open(ballast, "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 512)
    charges, replies = vault.ledger.charges, []
    for age in range(31, 90):
        question = {"sql": f"SELECT COUNT(*) FROM people WHERE age < {age}", "scale": 400}
        replies.append(call(address, "/api/v1/ask", question, tokens["ana"]))
    failed = [body["error"] for status, body in replies if status != 200]
    assert {status for status, _ in replies} <= {200, 503}
    assert failed
    assert all("disk" in error["message"] and str(vault.path) not in error["message"] for error in failed)
    assert call(address, "/api/v1/users", {"name": "late"}, tokens["boss"])[0] == 503
    assert call(address, "/api/v1/budget", token=tokens["ana"])[0] == 200
    ballast.unlink()
    assert call(address, "/api/v1/ask", {**COUNT, "sql": COUNT["sql"] + " AND sex = 'F'"}, tokens["ana"])[0] == 200
    measured = sum(status == 200 for status, _ in replies)
    assert vault.ledger.charges <= charges + measured + 1
    assert Vault.open(vault.path).budget().pending == ()
