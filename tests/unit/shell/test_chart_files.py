"""The chart's files against what they are made from."""

import yaml

from coxswain import __version__
from coxswain.shell import settings
from tests.contract import chart


def test_the_crds_of_the_chart_are_those_of_the_contract() -> None:
    for source, copy in chart.COPIES.items():
        assert copy.read_text() == source.read_text(), "run make chart"
    assert {path.name for path in (chart.CHART / "files" / "crds").iterdir()} == {path.name for path in chart.COPIES}


def test_the_schema_of_the_values_is_that_of_the_settings() -> None:
    assert chart.SCHEMA.read_text() == chart.rendered_schema(), "run make chart"


def test_a_crd_has_the_one_line_that_its_template_puts_the_annotation_after() -> None:
    for copy in chart.COPIES.values():
        assert copy.read_text().count("\nmetadata:\n") == 1
        assert "annotations" not in yaml.safe_load(copy.read_text())["metadata"]


def test_the_values_spell_out_every_setting_with_its_default() -> None:
    values = yaml.safe_load((chart.CHART / "values.yaml").read_text())["settings"]
    images = {"torch": "t", "spark": "s"}
    defaults = settings.parse({"images": images})
    assert settings.parse({**values, "images": images}) == defaults
    everything = defaults.model_dump(by_alias=True, mode="json")
    del everything["images"], everything["lease"]["name"], everything["lease"]["namespace"]
    assert values == everything


def test_the_chart_is_of_the_package_s_version() -> None:
    found = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
    assert (found["version"], found["appVersion"]) == (__version__, __version__)
