"""The refinement seed's grades: what constraints gain, what they cost in privacy, what is left once it is paid."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.refinement.linear_refinement import LinearRefinement
from discreet.refinement.refine import refine
from discreet.refinement.rho import calibrate, rho
from experiments.facts.plot import COLOURS, panels, save, write_rows

RESPONSES = ("A", "B", "C", "D", "F", "passing", "all")
STUDENTS = np.array([35, 45, 60, 25, 15])
QUERIES = np.vstack([np.eye(5), [1, 1, 1, 1, 0], np.ones(5)])
TRUTH = QUERIES @ STUDENTS
EPSILON = 0.5
RUNS = 20_000

BY_DEFINITION = np.array([[1, 1, 1, 1, 0, -1, 0], [0, 0, 0, 0, 1, 1, -1]], float)  # refinement, (11)
A_AND_B = np.array([[1, 1, 0, 0, 0, 0, 0]], float)
EVERYBODY = np.array([[0, 0, 0, 0, 0, 0, 1]], float)

CASES = {
    "what holds by definition": BY_DEFINITION,
    "and A + B = 80": np.vstack([BY_DEFINITION, A_AND_B]),
    "and 180 students in all": np.vstack([BY_DEFINITION, A_AND_B, EVERYBODY]),
}


@dataclass(frozen=True)
class Case:
    """Root mean square errors of the responses, stated and simulated, and the ρ of the refinement over ε."""

    name: str
    scale: float
    stated: NDArray[np.float64]
    simulated: NDArray[np.float64]
    factor: float


def errors(name: str, constraints: NDArray[np.float64] | None, scale: float, runs: int = RUNS) -> Case:
    """Noise of one scale in each response, refined."""
    noise = np.random.default_rng(1).laplace(scale=scale, size=(runs, len(TRUTH)))
    if constraints is None:
        deviation = np.full(len(TRUTH), scale * np.sqrt(2))
        return Case(name, scale, deviation, np.sqrt(np.mean(noise**2, axis=0)), 1.0)
    constants = constraints @ TRUTH
    refined = refine(TRUTH, constraints, constants, np.full(len(TRUTH), 2 * scale**2))
    rule = refined.rule(QUERIES)
    simulated = noise @ rule.on_responses.T
    factor = rho(rule, "add-remove", scale).factor
    return Case(name, scale, np.sqrt(refined.variances), np.sqrt(np.mean(simulated**2, axis=0)), factor)


def cases() -> list[Case]:
    """At the classical scale Δ/ε, and with noise that keeps ρ within ε."""
    classical = 3 / EPSILON  # one student counts in a grade, in passing, and in all
    found = [errors("nothing", None, classical)]
    for name, constraints in CASES.items():
        found.append(errors(name, constraints, classical))
        best = LinearRefinement.best(constraints, queries=QUERIES)
        calibrated = calibrate(best, EPSILON, "add-remove")
        if calibrated > classical * 1.001:
            found.append(errors(f"{name}, calibrated", constraints, calibrated))
    return found


def draw() -> None:
    found = cases()
    figure, (panel,) = panels(1, width=9)
    width = 0.86 / len(found)
    for place, case in enumerate(found):
        at = np.arange(len(TRUTH)) + (place - (len(found) - 1) / 2) * width
        label = f"{case.name}: ρ = {rho_over_epsilon(case):.3g}·ε"
        panel.bar(at, case.simulated, width * 0.94, color=COLOURS[place % len(COLOURS)], label=label)
    panel.set_xticks(range(len(TRUTH)), labels=list(RESPONSES))
    panel.set_ylabel("students")
    panel.set_title(f"root mean square error, ε = {EPSILON:g}", fontsize=10, loc="left")
    figure.legend(loc="outside right center", frameon=False, fontsize=9)
    save(figure, "grades")
    header = ("known", "scale", "rho / epsilon", *RESPONSES, *(f"{name}, simulated" for name in RESPONSES))
    write_rows(
        "grades",
        header,
        [
            (c.name, f"{c.scale:.3f}", f"{rho_over_epsilon(c):.3f}", *(f"{v:.3f}" for v in (*c.stated, *c.simulated)))
            for c in found
        ],
    )


def rho_over_epsilon(case: Case) -> float:
    """What whoever refines so can tell neighbours apart by, in units of the ε that was meant."""
    return case.factor * 3 / case.scale / EPSILON
