"""Bars for people who wait: after a second, on a terminal, and nowhere else."""

import io

import pytest
from rich.console import Console

from discreet.cli import present
from discreet.progress import silent
from tests.patience import wait_until


@pytest.fixture
def terminal(monkeypatch):
    """Standard error as a terminal, and what it shows."""
    shown = io.StringIO()
    monkeypatch.setattr(present, "err", Console(file=shown, force_terminal=True, force_interactive=True, width=80))
    return shown


def wait_for(shown, *words):
    return wait_until(lambda: all(word in shown.getvalue() for word in words))


def test_what_is_done_before_anybody_is_impatient_shows_no_bar(terminal, monkeypatch):
    assert present.PATIENCE == 1
    monkeypatch.setattr(present, "PATIENCE", 3600)  # seconds: it is done before that, however busy the machine is
    with present.waiting("reading the table") as told:
        told("reading the table", 0.5)
    assert terminal.getvalue() == ""


def test_what_takes_longer_shows_what_is_done_and_how_much_of_it(terminal, monkeypatch):
    monkeypatch.setattr(present, "PATIENCE", 0.01)
    with present.waiting("opening the vault") as told:
        assert wait_for(terminal, "opening the vault")
        told("counting", 0.5)
        assert wait_for(terminal, "counting", "━━━")
    assert terminal.getvalue().endswith("\x1b[2K")  # it goes away when the work is done


def test_a_bar_goes_away_where_the_work_fails(terminal, monkeypatch):
    monkeypatch.setattr(present, "PATIENCE", 0.01)

    def work():
        with present.waiting("reading the table"):
            assert wait_for(terminal, "reading the table")
            raise ValueError("the work")

    with pytest.raises(ValueError, match="the work"):
        work()
    assert terminal.getvalue().endswith("\x1b[2K")


@pytest.mark.parametrize(("interactive", "as_json"), [(True, True), (False, False), (False, True)])
def test_nothing_is_shown_on_a_pipe_or_beside_json(monkeypatch, interactive, as_json):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=interactive, force_interactive=interactive)
    monkeypatch.setattr(present, "err", console)
    monkeypatch.setattr(present, "PATIENCE", 0.0)
    with present.waiting("reading the table", as_json) as told:
        assert told is silent  # so nobody draws, now or later
    assert shown.getvalue() == ""
