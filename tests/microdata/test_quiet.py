"""Standard output is for answers: what a solver writes there goes to standard error."""

import os
import threading
from fractions import Fraction

import pytest

from discreet.microdata import quiet
from discreet.microdata.multisize import multi_size_setting
from discreet.microdata.optimal import optimal_setting
from tests.patience import PATIENCE


# HiGHS 1.12 says "HighsMipSolverData::transformNewIntegerFeasibleSolution tmpSolver.run();" on its way
@pytest.mark.parametrize("find", [multi_size_setting, optimal_setting])
def test_settings_are_found_without_a_word_on_standard_output(find, capfd):
    limits = tuple(map(Fraction, ("1/3", "1/6", "1/3", "1/2", "1/3", "1/2")))
    assert find((1, 1, 2, 1, 1, 1), limits, max_size=9).loss == 36
    assert not capfd.readouterr().out


def test_output_goes_to_errors_until_the_last_thread_is_through(capfd):
    aside, came, may_go = quiet.Aside(), threading.Event(), threading.Event()

    def stay():
        with aside.output():
            came.set()
            may_go.wait(PATIENCE)

    other = threading.Thread(target=stay)
    with aside.output():
        other.start()
        assert came.wait(PATIENCE)
        os.write(1, b"one\n")
    os.write(1, b"two\n")
    may_go.set()
    other.join(PATIENCE)
    os.write(1, b"three\n")
    seen = capfd.readouterr()
    assert (seen.out, seen.err) == ("three\n", "one\ntwo\n")


@pytest.mark.parametrize("missing", ["OUTPUT", "ERRORS"])
def test_a_process_without_output_or_errors_is_left_as_it_is(missing, monkeypatch, capfd):
    monkeypatch.setattr(quiet, missing, 10**6)
    with quiet.Aside().output():
        os.write(1, b"as ever\n")
    assert capfd.readouterr().out == "as ever\n"
