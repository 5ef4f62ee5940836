"""What an experiment's `learnFrom` asks for: a table in a ConfigMap, taken into the ledger."""

from coxswain.core.api import TrainingExperiment
from coxswain.core.errors import InputError
from coxswain.core.ledger.measured import Like
from coxswain.core.ledger.table import read_csv
from coxswain.shell.cluster import CONFIG_MAPS, Cluster
from coxswain.shell.ledger import Ledger


async def learn_from(
    cluster: Cluster, ledger: Ledger, experiment: TrainingExperiment, namespace: str, *, node_type: str, now: str
) -> int:
    """Take the measurements into the ledger, those that are not there yet; how many these were.

    `node_type` is that of this cluster's nodes, for an experiment that names none; `now` is when this happens. Doing it
    again takes in nothing twice.

    Raises:
        InputError: in one sentence that names the ConfigMap, and the row or column to mend.
    """
    asked = experiment.spec.learn_from
    if asked is None:
        return 0
    place = f"spec.learnFrom: ConfigMap {asked.config_map}"
    manifest = await cluster.find(CONFIG_MAPS, namespace, asked.config_map)
    if manifest is None:
        raise InputError(f"{place} is not in namespace {namespace}; create it or correct the name.")
    text = (manifest.get("data") or {}).get(asked.key)
    if text is None:
        raise InputError(f"{place} has no key {asked.key}; add it or correct the key.")
    try:
        return await ledger.add(read_csv(text, namespace, Like.of(experiment, node_type), now))
    except InputError as error:
        raise InputError(f"{place}, key {asked.key}: {error}") from None
