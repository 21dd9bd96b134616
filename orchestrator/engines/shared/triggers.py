"""How definitions with metadata and triggers are described and started."""

from collections.abc import Mapping
from typing import Any


def describe_flow(document: object) -> tuple[str, str]:
    """Return (title, description) of a flow."""
    metadata = document.get("metadata") if isinstance(document, Mapping) else None
    given: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    return str(given.get("title") or ""), str(given.get("description") or "")


def allows_start(trigger: str, document: object) -> bool:
    """Return whether a flow may be started so: its trigger `ui` or `api` is not false (S002-17, S002-A12)."""
    triggers = document.get("triggers") if isinstance(document, Mapping) else None
    return not isinstance(triggers, Mapping) or triggers.get(trigger) is not False
