"""The journal in Postgres: races, crashes, lost connections and edits, on a real server."""

import os
import signal
import socket
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box
from discreet.errors import BudgetExceeded, JournalCorrupt, JournalError, JournalRolledBack
from discreet.ledger import postgres as module
from discreet.ledger.budget import PureBudget
from discreet.ledger.ledger import Ledger
from discreet.ledger.places import header_of
from discreet.ledger.receipt import receipt_path
from discreet.ledger.spend import UNITS, Cost
from discreet.postgres_address import journal_place, of_vault
from tests.forked import FORK, charge_until_refused, in_processes
from tests.patience import PATIENCE, wait_until

pytestmark = pytest.mark.xdist_group("postgres")

FIFTIETH = UNITS // 50  # fifty charges of this fit to the last unit, and not one more
TENTH = Cost(UNITS // 10)
DOMAIN = Domain("t", tuple(Integer(name=n, source="test", low=0, high=high) for n, high in (("a", 5), ("b", 3))))
BUDGET = PureBudget(Fraction(1), "add-remove")


def new_journal(server):
    vault_id = f"test-{uuid.uuid4().hex}"
    Ledger.create(server.ledger(), {"vault_id": vault_id})
    return of_vault(server.ledger(), vault_id)


@pytest.fixture
def location(postgres):
    """A journal with its first entry only."""
    return new_journal(postgres)


def opened(location, **more):
    return Ledger.open(location, DOMAIN, BUDGET, **more)


@pytest.fixture
def ledger(location):
    ledger = opened(location)
    yield ledger
    ledger.close()


def edit(server, location, statement):
    """Change rows behind the journal's back, as a superuser can."""
    server.execute("SET session_replication_role = replica; " + statement.format(journal_place(location).vault_id))


def switch_fsync(server, value):
    server.execute(f"ALTER SYSTEM SET fsync = {value}", "SELECT pg_reload_conf()")

    def heard():  # a little later
        with server.connect() as session:
            return session.execute("SHOW fsync").fetchone() == (value,)

    wait_until(heard)


def backend_of(ledger):
    return ledger._followed.journal._session.info.backend_pid


class TestRaces:
    def test_processes_together_spend_the_limit_to_the_last_unit(self, location):
        def work(i, out):
            cost = Cost(FIFTIETH) if i % 2 else Cost(0, ((Box((1, 1), (2, 3)), FIFTIETH),))
            out.put(charge_until_refused(opened(location), cost))

        assert sum(in_processes(4, work)) == 50
        after = opened(location)
        assert (after.spent_max, after.pending()) == (UNITS, [])

    def test_threads_together_spend_the_limit_to_the_last_unit(self, ledger):
        with ThreadPoolExecutor(4) as pool:
            fitted = pool.map(lambda _: charge_until_refused(ledger, Cost(FIFTIETH)), range(4))
        assert (sum(fitted), ledger.spent_max) == (50, UNITS)

    def test_forked_children_go_on_with_a_ledger_that_was_open_before_and_leave_the_parents_connection(self, ledger):
        ledger.charge(Cost(FIFTIETH), {})
        backend = backend_of(ledger)
        assert sum(in_processes(3, lambda _, out: out.put(charge_until_refused(ledger, Cost(FIFTIETH))))) == 49
        assert charge_until_refused(ledger, Cost(FIFTIETH)) == 0
        assert (ledger.spent_max, backend_of(ledger)) == (UNITS, backend)

    def test_one_answer_wins_and_everybody_sees_it(self, location, ledger):
        charge = ledger.charge(Cost(1), {})
        answers = in_processes(4, lambda i, out: out.put(opened(location).record(charge.id, {"drawn by": i})))
        assert all(answer == ledger.recorded(charge.id) for answer in answers)
        assert sum(entry.kind == "record" for entry in ledger.entries()) == 1

    def test_a_reader_sees_spending_only_grow_while_another_process_writes(self, location):
        def work(i, out):
            if i == 0:
                out.put(charge_until_refused(opened(location), Cost(FIFTIETH)))
            else:
                spent = [opened(location).spent_max for _ in range(10)]
                out.put(0 if spent == sorted(spent) else -1)

        assert sum(in_processes(2, work)) == 50

    def test_vaults_made_at_the_same_moment_in_a_new_database_share_one_table(self, postgres):
        postgres.execute("CREATE DATABASE crowded")
        place = postgres.ledger("crowded")
        made = [f"crowded-{i}" for i in range(4)]

        def work(i, out):
            Ledger.create(place, {"vault_id": made[i]})
            out.put(opened(of_vault(place, made[i])).charge(TENTH, made[i]).plan)

        assert sorted(in_processes(4, work)) == made

    def test_two_vaults_in_one_database_do_not_see_or_wait_for_each_other(self, postgres, location, ledger):
        other = opened(new_journal(postgres))
        with ledger._followed.turn():
            other.charge(Cost(UNITS), "theirs")
        assert ledger.spent_max == 0
        ledger.charge(TENTH, "ours")
        assert [entry.seq for entry in other.entries()] == [entry.seq for entry in ledger.entries()] == [1, 2]
        assert header_of(location)["vault_id"] == ledger.vault_id != other.vault_id


class TestCrashes:
    def test_a_crash_between_charge_and_record_keeps_the_charge_with_its_plan(self, location, ledger):
        def work():
            opened(location).charge(Cost(FIFTIETH), {"query": "count"})
            os.kill(os.getpid(), signal.SIGKILL)

        child = FORK.Process(target=work)
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
        (charge,) = ledger.pending()
        assert (charge.plan, charge.cost, ledger.spent_max) == ({"query": "count"}, Cost(FIFTIETH), FIFTIETH)
        ledger.record(charge.id, {"value": 3})
        assert opened(location).pending() == []

    def test_a_crash_within_a_charge_spends_nothing_and_blocks_nobody(self, location):
        def work():
            ledger = opened(location)
            with ledger._followed.turn():
                ledger._followed.append("charge", None, "{}")
                os.kill(os.getpid(), signal.SIGKILL)

        child = FORK.Process(target=work)
        child.start()
        child.join()
        ledger = opened(location)
        assert ledger.spent_max == 0
        ledger.charge(Cost(FIFTIETH), {})

    def test_a_connection_killed_between_charges_is_made_again_unnoticed(self, postgres, ledger):
        ledger.charge(TENTH, {})
        before = backend_of(ledger)
        postgres.execute(f"SELECT pg_terminate_backend({before}, {1000 * PATIENCE:.0f})")
        ledger.charge(TENTH, {})
        assert backend_of(ledger) != before
        assert ledger.spent_max == UNITS // 5

    @pytest.mark.parametrize("appended", [False, True])
    def test_a_connection_killed_within_a_charge_spends_nothing_and_the_next_charge_reconnects(
        self, postgres, ledger, appended
    ):
        def charge():
            with ledger._followed.turn():
                if appended:
                    ledger._followed.append("charge", None, "{}")
                postgres.execute(f"SELECT pg_terminate_backend({backend_of(ledger)}, {1000 * PATIENCE:.0f})")
                if not appended:
                    ledger._followed.append("charge", None, "{}")

        ledger.charge(TENTH, {})
        with pytest.raises(JournalError, match="is not known; nothing was rel" if appended else "lost; nothing was wr"):
            charge()
        assert (ledger.head.seq, ledger.spent_max) == (2, UNITS // 10)
        ledger.charge(TENTH, {})
        assert ledger.spent_max == UNITS // 5

    def test_nothing_is_written_outside_the_lock_after_the_connection_was_lost_within_a_turn(self, postgres, ledger):
        def stubborn():
            with ledger._followed.turn():
                postgres.execute(f"SELECT pg_terminate_backend({backend_of(ledger)}, {1000 * PATIENCE:.0f})")
                for _ in range(2):
                    with pytest.raises(JournalError, match="lost; nothing was written"):
                        ledger._followed.append("charge", None, "{}")

        with pytest.raises(JournalError, match="lost; nothing was written"):
            stubborn()
        assert ledger.head.seq == 1

    @pytest.mark.parametrize("delivered", [True, False])
    def test_a_commit_whose_outcome_is_unknown_says_so_and_is_found_out_by_the_next_look(
        self, postgres, location, delivered
    ):
        with Detour(postgres.port, delivered) as detour:
            ledger = opened(of_vault(postgres.ledger(port=detour.port), journal_place(location).vault_id))
            ledger.charge(TENTH, "first")
            detour.cut = True
            with pytest.raises(
                JournalError,
                match="whether it was written is not known; nothing was released; `discreet ledger complete` finishes",
            ):
                ledger.charge(TENTH, "second")
            detour.cut = False
            expected = ["first", "second"] if delivered else ["first"]
            assert [charge.plan for charge in ledger.pending()] == expected
            assert ledger.spent_max == len(expected) * UNITS // 10
            ledger.record(ledger.pending()[-1].id, "answer")
            assert [charge.plan for charge in opened(location).pending()] == expected[:-1]
            ledger.close()

    def test_a_turn_that_falls_silent_is_ended_by_the_server_so_that_others_go_on(self, location, ledger, monkeypatch):
        def silent():
            with ledger._followed.turn():
                monkeypatch.setattr(module, "SILENCE", PATIENCE)  # the other one's turn is as long as it takes
                opened(location).charge(TENTH, "waited for the silent one")
                ledger._followed.append("charge", None, "{}")

        monkeypatch.setattr(module, "SILENCE", 1.0)
        with pytest.raises(JournalError, match="lost; nothing was written"):
            silent()
        assert ledger.spent_max == UNITS // 10

    @pytest.mark.parametrize(("accident", "after"), [("the server crashes", 100), ("all connections are killed", 20)])
    def test_accidents_under_load_lose_no_charge_that_was_given_and_overspend_nothing(
        self, mortal_postgres, accident, after
    ):
        """One after so many charges, whatever time they take: between two accidents something is done."""
        location, charges, done = new_journal(mortal_postgres), 700, threading.Event()

        def work(_, out):
            given, failures, ledger = [], 0, None
            while True:
                try:
                    ledger = ledger or opened(location)
                    given.append(str(ledger.charge(Cost(UNITS // charges), {}).receipt))
                except BudgetExceeded:
                    out.put((given, failures))
                    return
                except JournalError:
                    failures += 1
                    time.sleep(0.02)

        def charged():
            with mortal_postgres.connect() as session:
                vault = (journal_place(location).vault_id,)
                return session.execute("SELECT count(*) FROM discreet_entries WHERE vault_id = %s", vault).fetchone()[0]

        def strike():
            struck = 0
            while not done.wait(0.01):
                if charged() < struck + after:
                    continue
                struck = charged()
                if accident == "the server crashes":
                    mortal_postgres.restart()
                else:
                    mortal_postgres.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'discreet'"
                    )

        with ThreadPoolExecutor(1) as striker:
            strikes = striker.submit(strike)
            results = in_processes(2, work)
            done.set()
            strikes.result()
        ledger = opened(location)
        given = [receipt for receipts, _ in results for receipt in receipts]
        assert sorted(given) == sorted({str(entry.receipt) for entry in ledger.entries()} & set(given))
        assert sum(failures for _, failures in results) > 0
        assert sum(entry.kind == "charge" for entry in ledger.entries()) == charges
        assert ledger.spent_max == UNITS
        ledger.close()


class Detour:
    """A way to the server that ends a connection with its next COMMIT, before or after the server has it."""

    def __init__(self, port, delivered):
        self.target, self.delivered, self.cut = port, delivered, False
        self.listener = socket.create_server(("localhost", 0))
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("localhost", self.target))
            threading.Thread(target=self.forward, args=(client, server), daemon=True).start()
            threading.Thread(target=self.back, args=(server, client), daemon=True).start()

    def forward(self, client, server):
        while data := received(client):
            if self.cut and b"COMMIT\0" in data:
                client.shutdown(socket.SHUT_RDWR)
                if self.delivered:
                    server.sendall(data)
                    time.sleep(0.2)
                break
            server.sendall(data)
        server.shutdown(socket.SHUT_RDWR)

    def back(self, server, client):
        while data := received(server):
            try:
                client.sendall(data)
            except OSError:
                return
        client.close()


def received(connection):
    try:
        return connection.recv(65536)
    except OSError:
        return b""


DAMAGES = {
    "an entry edited": "UPDATE discreet_entries SET body = replace(body, 'plan', 'plot') "
    "WHERE vault_id = '{0}' AND seq = 2",
    "an amount lowered": "UPDATE discreet_entries SET body = replace(body, '7207', '0720') "
    "WHERE vault_id = '{0}' AND seq = 2",
    "an entry removed": "DELETE FROM discreet_entries WHERE vault_id = '{0}' AND seq = 3",
    "the first entry removed": "DELETE FROM discreet_entries WHERE vault_id = '{0}' AND seq = 1",
    "all entries removed": "DELETE FROM discreet_entries WHERE vault_id = '{0}'",
    "a hash replaced": "UPDATE discreet_entries SET hash = '\\x00' WHERE vault_id = '{0}' AND seq = 4",
}


class TestRows:
    @pytest.mark.parametrize(
        "statement",
        ["UPDATE discreet_entries SET body = '{}'", "DELETE FROM discreet_entries", "TRUNCATE discreet_entries"],
    )
    def test_entries_can_be_neither_changed_nor_removed(self, postgres, location, statement):
        with pytest.raises(Exception, match="append-only"):
            postgres.execute(statement)
        assert opened(location).head.seq == 1

    @pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
    def test_edited_rows_are_refused_without_quoting_them(self, postgres, location, ledger, damage):
        for _ in range(5):
            ledger.charge(TENTH, "plan")
        edit(postgres, location, damage)
        with pytest.raises(JournalCorrupt) as refused:
            opened(location)
        assert "plan" not in str(refused.value)

    def test_an_entry_written_out_of_turn_is_met_with_the_next_charge(self, postgres, location, ledger):
        ledger.charge(TENTH, "plan")
        edit(postgres, location, "INSERT INTO discreet_entries VALUES ('{}', 3, 'charge', NULL, '{{}}', '\\x00')")
        with pytest.raises(JournalCorrupt, match="entry 3"):
            ledger.charge(TENTH, "plan")

    def test_an_older_copy_put_back_is_refused_until_a_custodian_accepts_it(self, postgres, location, ledger):
        ledger.charge(TENTH, {})
        lost = ledger.charge(TENTH, {})
        edit(postgres, location, "DELETE FROM discreet_entries WHERE vault_id = '{}' AND seq = 3")
        with pytest.raises(JournalRolledBack, match="entry 3"):
            ledger.charge(TENTH, {})
        with pytest.raises(JournalRolledBack, match=r"entry 3 as it was seen.*--accept-rollback"):
            opened(location)
        accepted = opened(location, accept_rollback=True)
        assert accepted.latest("rollback-accepted") == {"seen": str(lost.receipt)}
        assert accepted.spent_max == UNITS // 10

    def test_a_host_that_never_saw_the_vault_is_told_by_a_receipt_that_it_is_given(self, postgres, location, ledger):
        ledger.charge(TENTH, {})
        lost = ledger.charge(TENTH, {})
        edit(postgres, location, "DELETE FROM discreet_entries WHERE vault_id = '{}' AND seq = 3")
        receipt_path(ledger.vault_id).unlink()
        with pytest.raises(JournalRolledBack, match="entry 3"):
            opened(location).check_receipt(lost.receipt)

    def test_a_long_journal_is_read_in_batches(self, location, ledger, monkeypatch):
        monkeypatch.setattr(module, "BATCH", 3)
        for _ in range(8):
            ledger.charge(Cost(1), {})
        every = list(ledger.entries())
        assert [entry.seq for entry in every] == list(range(1, 10))
        for place, entry in enumerate(every, 1):
            following = ledger._followed.journal.following(entry.receipt)
            assert following is not None
            assert list(following) == every[place:]
        assert opened(location).spent_max == 8


class TestServers:
    def test_commits_are_synced_and_reads_are_current_whatever_the_servers_defaults(self, location, monkeypatch):
        monkeypatch.setenv("PGOPTIONS", "-c synchronous_commit=off -c default_transaction_isolation=serializable")
        ledger = opened(location)
        with ledger._followed.turn():
            for setting, value in (("synchronous_commit", "on"), ("transaction_isolation", "read committed")):
                assert ledger._followed.journal._run(f"SHOW {setting}") == [(value,)]
        assert sum(in_processes(2, lambda _, out: out.put(charge_until_refused(opened(location), TENTH)))) == 10

    def test_a_server_that_does_not_sync_is_refused_and_nothing_is_written(self, mortal_postgres):
        location = new_journal(mortal_postgres)
        ledger = opened(location)
        switch_fsync(mortal_postgres, "off")
        for use in (opened, lambda _: new_journal(mortal_postgres)):
            with pytest.raises(JournalError, match="runs with fsync off; nothing was written: set fsync = on"):
                use(location)
        mortal_postgres.restart()  # whoever was connected is asked again
        with pytest.raises(JournalError, match="would not survive a crash"):
            ledger.charge(TENTH, {})
        switch_fsync(mortal_postgres, "on")
        ledger.charge(TENTH, {})
        assert [entry.kind for entry in opened(location).entries()] == ["init", "charge"]

    def test_a_table_that_a_crash_would_empty_is_refused(self, postgres):
        postgres.execute("CREATE DATABASE fleeting")
        place = of_vault(postgres.ledger("fleeting"), "test-vault")
        Ledger.create(place, {"vault_id": "test-vault"})
        module.PostgresJournal(place)._run("ALTER TABLE discreet_entries SET UNLOGGED")
        with pytest.raises(JournalError, match=r"unlogged table; nothing was written: ALTER TABLE .* SET LOGGED"):
            opened(place)

    def test_a_read_only_server_says_so_and_spends_nothing(self, location, monkeypatch):
        monkeypatch.setenv("PGOPTIONS", "-c default_transaction_read_only=on")
        ledger = opened(location)
        with pytest.raises(JournalError, match="read-only; nothing was written: use the primary server"):
            ledger.charge(TENTH, {})
        assert ledger.spent_max == 0

    def test_a_journal_that_another_process_keeps_locked_is_an_error_after_a_while(self, location, ledger, monkeypatch):
        other = opened(location)
        with other._followed.turn():
            monkeypatch.setattr(module, "PATIENCE", 0.05)
            with pytest.raises(JournalError, match=r"busy for .* seconds; nothing was written"):
                ledger.charge(TENTH, {})
            assert ledger.spent_max == 0
        ledger.charge(TENTH, {})

    def test_a_journal_is_never_made_over_another(self, postgres, location):
        with pytest.raises(JournalError, match="already"):
            Ledger.create(postgres.ledger(), {"vault_id": journal_place(location).vault_id})

    def test_a_server_that_is_down_is_an_error_in_words(self, postgres):
        with socket.create_server(("localhost", 0)) as taken:
            port = taken.getsockname()[1]
        with pytest.raises(JournalError, match=r"cannot be reached; nothing was written: is the server running"):
            opened(of_vault(postgres.ledger(port=port), "test-vault"))

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"password": "hunter2"}, "refuses this user with this password"),
            ({"user": "nobody"}, "refuses this user with this password"),
            ({"name": "missing"}, "has no such database"),
            ({"password": ""}, "asks for a password; set PGPASSWORD"),
        ],
    )
    def test_wrong_credentials_and_databases_are_errors_that_echo_no_password(
        self, postgres, changes, words, monkeypatch
    ):
        monkeypatch.setenv("PGPASSFILE", os.devnull)
        for use in (opened, lambda place: Ledger.create(place, {"vault_id": "test-vault"})):
            with pytest.raises(JournalError, match=words) as refused:
                use(of_vault(postgres.ledger(**changes), "test-vault"))
            assert "hunter2" not in str(refused.value)
            assert postgres.password not in str(refused.value)

    def test_a_database_without_a_journal_and_a_user_without_rights_are_errors_in_words(self, postgres):
        postgres.execute("CREATE DATABASE bare", "CREATE ROLE guest LOGIN PASSWORD 'guest'")
        with pytest.raises(JournalError, match=r"is not there; check the location in vault\.toml"):
            opened(of_vault(postgres.ledger("bare"), "test-vault"))
        with pytest.raises(JournalError, match="this user may not use it"):
            Ledger.create(postgres.ledger("bare", user="guest", password="guest"), {"vault_id": "test-vault"})

    def test_a_user_with_select_and_insert_shares_a_vault_and_makes_new_ones(self, postgres, ledger):
        postgres.execute("CREATE ROLE asker LOGIN PASSWORD 'a'", "GRANT SELECT, INSERT ON discreet_entries TO asker")
        mine = postgres.ledger(user="asker", password="a")
        opened(of_vault(mine, ledger.vault_id)).charge(TENTH, {})
        assert ledger.spent_max == UNITS // 10
        Ledger.create(mine, {"vault_id": f"test-{uuid.uuid4().hex}"})

    def test_a_column_that_is_gone_is_damage(self, postgres):
        postgres.execute("CREATE DATABASE broken")
        place = of_vault(postgres.ledger("broken"), "test-vault")
        Ledger.create(place, {"vault_id": "test-vault"})
        module.PostgresJournal(place)._run("ALTER TABLE discreet_entries DROP COLUMN hash")
        with pytest.raises(JournalCorrupt, match="is damaged; restore it from a backup"):
            opened(place)

    def test_an_entry_is_not_written_outside_a_turn(self, ledger):
        entry = next(ledger.entries())
        with pytest.raises(JournalError, match="within a turn only"):
            ledger._followed.journal.append(entry)

    def test_an_interrupt_within_a_statement_leaves_no_connection_that_waits_for_its_answer(self, ledger, monkeypatch):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(ledger._followed.journal._session, "execute", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(TENTH, {})
        ledger.charge(TENTH, {})
        assert ledger.spent_max == UNITS // 10
