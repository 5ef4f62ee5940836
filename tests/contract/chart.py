"""The parts of the Helm chart that are made from other files: the CRDs, and the schema of its values.

A chart can hold only files of its own folder, so the CRDs are copied there; and what its `settings` may be is what the
operator's own settings may be. `make chart` (this module, run) writes both, and a test holds that they are current.
"""

import json
from collections.abc import Mapping
from typing import Any

from coxswain.shell.settings import Settings
from tests.contract import crds

CHART = crds.FOLDER.parent / "charts" / "coxswain"
SCHEMA = CHART / "values.schema.json"
COPIES = {file: CHART / "files" / "crds" / file.name for file in (crds.JOBS, crds.EXPERIMENTS)}

_TEXT, _FLAG, _FREE = {"type": "string"}, {"type": "boolean"}, {"type": "object"}


def values_schema() -> dict[str, Any]:
    """What the values of the chart may be."""
    settings, definitions = _of_settings()
    images: dict[str, Any] = dict.fromkeys(("registry", "tag", "operator", "torch", "spark"), _TEXT)
    images["pullPolicy"] = {"enum": ["Always", "IfNotPresent", "Never"]}
    images["pullSecrets"] = {"type": "array", "items": _TEXT}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_closed(
            images=_closed(**images),
            crds=_closed(install=_FLAG),
            replicas={"type": "integer", "minimum": 0, "maximum": 5},
            settings=settings,
            resources=_FREE,
            nodeSelector=_FREE,
            tolerations={"type": "array", "items": _FREE},
            affinity=_FREE,
            priorityClassName=_TEXT,
            serviceAccount=_closed(name=_TEXT, annotations=_FREE),
            metrics=_closed(service=_FLAG, annotations=_FREE),
            **{"global": _FREE},  # Helm puts it there when the chart is part of another
        ),
        "$defs": definitions,
    }


def _of_settings() -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings' own schema, without what the chart fills in itself; and what it refers to."""
    schema = _bare(Settings.model_json_schema())
    definitions: dict[str, Any] = schema.pop("$defs")
    del schema["properties"]["images"], schema["required"], definitions["Images"]
    for name in ("name", "namespace"):
        del definitions["Lease"]["properties"][name]
    return schema, definitions


def _bare(value: Any) -> Any:
    """A schema without the words that only its makers read."""
    if isinstance(value, Mapping):
        return {key: _bare(item) for key, item in value.items() if key not in {"title", "description", "default"}}
    return [_bare(item) for item in value] if isinstance(value, list) else value


def _closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def rendered_schema() -> str:
    """The schema as its file has it."""
    return json.dumps(values_schema(), indent=2) + "\n"


def write() -> None:
    """Bring the chart up to date."""
    for source, copy in COPIES.items():
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(source.read_text())
    SCHEMA.write_text(rendered_schema())


if __name__ == "__main__":
    write()
