"""One command draws every figure that the pages show."""

import re
from pathlib import Path

import pytest

from experiments import __main__ as all_figures
from experiments.page import DOCS


def test_every_page_of_the_docs_is_drawn_each_figure_once():
    assert sorted(all_figures.PAGES) == sorted(page.stem for page in DOCS.glob("*.md") if page.stem != "README")
    figures = all_figures.figures_of(all_figures.PAGES)
    together, alone = all_figures.in_turns(figures)
    assert sorted(together + alone) == sorted(set(figures))
    assert {name for _, name in alone} == set().union(*all_figures.ALONE.values())


@pytest.mark.parametrize("page", all_figures.PAGES)
def test_every_picture_of_a_page_is_made_by_a_figure_of_its_own_folder(page):
    root, text = Path(all_figures.__file__).parent, (DOCS / f"{page}.md").read_text()
    shown = {Path(path).stem for path in re.findall(rf"\({page}/([\w.]+\.png)\)", text)}
    drawn = {figure for _, figure in all_figures.figures_of([page])}
    assert shown <= drawn
    assert all((root / page / f"{figure}.py").exists() for figure in drawn if figure != "wide")


def test_a_page_that_is_not_there_is_refused_with_those_that_are(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["experiments", "cuboids"])
    assert all_figures.main() == 2
    assert capsys.readouterr().out.startswith("no page is called cuboids; there are cubes, buckets")


def test_a_figure_that_fails_is_said_and_the_others_are_drawn(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["experiments", "models", "wide"])
    figures = [("models", "no such figure"), ("wide", "x"), ("wide", "wide")]
    monkeypatch.setattr(all_figures, "figures_of", lambda _: figures)
    monkeypatch.setattr(all_figures.subprocess, "run", lambda command, **_: Done(int("no such" in command[-1])))
    assert all_figures.main() == 1
    told = re.sub(r"\d+ (s|minutes|of)\b", r"0 \1", capsys.readouterr().out)
    assert sorted(told.splitlines()) == sorted(
        [
            "models no such figure failed after 0 s",
            "wide x 0 s",
            "wide wide 0 s",
            "3 figures: 0 minutes, 0 of processor time",
        ]
    )


class Done:
    def __init__(self, returncode):
        self.returncode = returncode
