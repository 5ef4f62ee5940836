import asyncio
from typing import Any

import pytest

from coxswain.core.api import parse_experiment
from coxswain.core.errors import InputError
from coxswain.core.ledger.table import to_csv
from coxswain.shell.cluster import CONFIG_MAPS
from coxswain.shell.learn_from import learn_from
from coxswain.shell.ledger import Ledger
from tests.contract.manifests import MINIMAL_EXPERIMENT, changed
from tests.unit.ledger.making import entry
from tests.unit.ledger.store import Store

TABLE = "epochs,batchSize,duration\n1,32,10\n2,32,20\n"


def learn(data: dict[str, str] | None, asked: dict[str, Any], times: int = 1) -> tuple[list[int], Ledger]:
    async def scene() -> tuple[list[int], Ledger]:
        store = Store()
        if data is not None:
            metadata = {"name": "measured", "labels": {}}
            await store.create(CONFIG_MAPS, "vision", {"metadata": metadata, "data": data})
        ledger = Ledger(store.cluster)
        experiment = parse_experiment(changed(MINIMAL_EXPERIMENT, {"learnFrom": asked} if asked else {}))
        counts = [
            await learn_from(store.cluster, ledger, experiment, "vision", node_type="n2", now="2026-11-16T12:00:00Z")
            for _ in range(times)
        ]
        return counts, ledger

    return asyncio.run(scene())


def test_a_table_is_taken_in_once_by_the_names_of_factors_and_fields() -> None:
    counts, ledger = learn({"data.csv": TABLE}, {"configMap": "measured"}, times=2)
    assert counts == [2, 0]
    assert sorted((each.fields["epochs"], each.fields["batchSize"]) for each in ledger.all()) == [(1, 32), (2, 32)]
    assert {each.family.node_type for each in ledger.all()} == {"n2"}


def test_the_spec_may_say_which_key_and_which_type_of_node() -> None:
    _, ledger = learn({"old": TABLE}, {"configMap": "measured", "key": "old", "nodeType": "n1"})
    assert {each.family.node_type for each in ledger.all()} == {"n1"}


def test_an_exported_table_says_all_itself() -> None:
    _, ledger = learn({"data.csv": to_csv([entry(1, namespace="elsewhere")])}, {"configMap": "measured"})
    assert list(ledger.all()) == [entry(1)]


def test_an_experiment_that_asks_for_nothing_gets_nothing() -> None:
    assert learn(None, {})[0] == [0]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "ConfigMap measured is not in namespace vision"),
        ({"other.csv": TABLE}, "ConfigMap measured has no key data.csv"),
        ({"data.csv": "epochs,duration\n1,soon\n"}, "key data.csv: row 1: column duration must be a number"),
    ],
)
def test_what_is_wrong_is_said_by_name(data: dict[str, str] | None, says: str) -> None:
    with pytest.raises(InputError, match=says):
        learn(data, {"configMap": "measured"})
