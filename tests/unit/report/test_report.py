"""The report as a document: whole, by itself, and with everything that was found in it."""

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from coxswain.core.results import analyze_experiment
from coxswain.report import render
from tests.unit.report.made import FACTORS, experiment, observe

EMPTY = {"meta"}


class Page(HTMLParser):
    """Reads a page, checks that elements are closed in order, and keeps its text and its elements."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"

    def count(self, tag: str) -> int:
        return sum(found == tag for found, _ in self.elements)


def page_of(**spec: Any) -> Page:
    made = experiment(**spec)
    design, observations = observe(made)
    return Page(render(made, design, observations, analyze_experiment(made.spec, observations)))


def test_it_says_what_was_done_and_found() -> None:
    page = page_of()
    for words in (
        "FullFactorial of 3 factors: 8 rows, each run 2 times.",
        "16 of 16 runs succeeded",
        "Pareto chart of the effects on duration",
        "duration by network",
        "duration by network and epochs",
        "Residuals against fitted values",
        "Normal probability plot",
        "Residuals in the order of the runs",
        "Nothing speaks against normal residuals",
        "Validation accuracy over the epochs",
        "duration = ",
        "made-up-row7-1",
    ):
        assert words in page.text
    # Two responses with a Pareto chart, 3 main effects, 3 interactions and 3 residual plots each; the learning curves.
    assert page.count("svg") == 2 * (1 + 3 + 3 + 3) + 1


def test_it_needs_nothing_else() -> None:
    page = page_of()
    assert not {tag for tag, _ in page.elements} & {"script", "link", "img", "iframe", "object"}
    assert all(
        str(value).startswith("#")
        for _, attributes in page.elements
        for name, value in attributes.items()
        if name in {"href", "src"}
    )
    assert "url(" not in page.text
    assert "@import" not in page.text


def test_the_same_results_give_the_same_file() -> None:
    made = experiment()
    design, observations = observe(made)
    first, second = (render(made, design, observations, analyze_experiment(made.spec, observations)) for _ in range(2))
    assert first == second


def test_what_a_user_wrote_is_never_markup() -> None:
    made = experiment()
    design, observations = observe(made)
    observations[0] = replace(observations[0], state="failed", reason="Error", message="<script>alert(1)</script> & so")
    page = Page(render(made, design, observations, analyze_experiment(made.spec, observations)))
    assert page.count("script") == 0
    assert "<script>alert(1)</script> & so" in page.text
    assert "1 run did not succeed and is left out." in page.text


@pytest.mark.parametrize("finished", [0, 1])
def test_an_experiment_with_nothing_to_analyse_has_a_report_too(finished: int) -> None:
    made = experiment()
    design, observations = observe(made)
    kept = observations[:finished]
    page = Page(render(made, design, kept, analyze_experiment(made.spec, kept)))
    assert ("None of 16 runs is finished." if finished == 0 else "1 of 16 runs succeeded") in page.text
    assert page.count("svg") == finished  # of a single run there is its learning curve


def test_a_saturated_design_is_judged_by_lenth() -> None:
    page = page_of(design={"type": "FullFactorial"}, analysis={"interactions": 3})
    assert "Lenth's margin of error" in page.text
    assert "Residuals against fitted values" not in page.text


def test_a_factor_of_many_values_is_drawn_as_dots_and_in_no_interaction() -> None:
    page = page_of(
        factors=[FACTORS[0], {**FACTORS[2], "levels": [1, 40]}],
        design={"type": "LatinHypercube", "runs": 20, "seed": 1},
        analysis={"responses": [{"name": "duration"}]},
    )
    assert "duration by epochs" in page.text
    assert "duration by epochs and" not in page.text


def test_more_runs_than_one_likes_to_see_are_folded() -> None:
    page = page_of(design={"type": "FullFactorial", "replications": 6})
    assert page.count("details") == 1
    assert "All 48" in page.text
