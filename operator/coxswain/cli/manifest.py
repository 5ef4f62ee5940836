"""Manifests as files: YAML, with one document or several."""

from pathlib import Path
from typing import Any

from coxswain.core.errors import InputError


def read_manifest(path: Path, *kinds: str, name: str | None = None, nameable: bool = True) -> Any:
    """The one document of these kinds, and of this name if one is given, in a YAML file.

    Several are told apart by --name, if the command has it (`nameable`).

    Raises:
        InputError: in one sentence, if there is no such file, it is no YAML, or it has none or several of them.
    """
    found = [document for document in documents(path) if isinstance(document, dict) and document.get("kind") in kinds]
    if name is not None:
        found = [document for document in found if _name(document) == name]
    if len(found) != 1:
        of_name = "" if name is None else f" with the name {name}"
        choose = "choose one by --name" if found and name is None and nameable else "give a file with one"
        raise InputError(f"{path} has {len(found) or 'no'} documents of kind {' or '.join(kinds)}{of_name}; {choose}.")
    return found[0]


def documents(path: Path) -> list[Any]:
    """All documents of a YAML file, whatever they are.

    Raises:
        InputError: in one sentence, if there is no such file or it is no YAML.
    """
    import yaml

    try:
        return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; check the path.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give a YAML file.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text in UTF-8; give a YAML file.") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path} is not YAML ({_where(error)}); correct it.") from None


def _name(document: dict[str, Any]) -> Any:
    metadata = document.get("metadata")
    return metadata.get("name") if isinstance(metadata, dict) else None


def _where(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "unknown structure"
    return f"line {mark.line + 1}: {problem}" if mark else str(problem)
