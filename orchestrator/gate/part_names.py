"""What a command of a batch is about, as a person would say it: «сделки «Ромашка» №481», never a key of the model. Ring 2, pure."""

from typing import Any, Final

from orchestrator.gate import criticals, fields
from orchestrator.gate.effects import Call, Facts
from orchestrator.gate.visible import escape_text

_HIDDEN: Final = frozenset({"gate-not-yours", "gate-not-found", "gate-unread", "gate-filter-foreign"})
"""Who is refused so learns nothing of the record but the number that they gave."""
_TITLES: Final = ("TITLE", "SUBJECT", "NAME", "LAST_NAME")
_LIMIT: Final = 60


def build_command_label(leaf: Call, facts: Facts, *, why: str = "") -> dict[str, Any]:
    """{entity, title, number, method}; a record that is to be made has its new title and no number."""
    target = next(iter(leaf.targets), None)
    entity = leaf.entity.partition(":")[0]
    record = facts.records.get(target) if target else criticals.extract_written_fields(leaf)
    title = "" if why in _HIDDEN or record is None else _find_title(record, entity)
    return {"entity": entity, "title": title or "none", "number": target[1] if target else 0, "method": leaf.method}


def _find_title(record: Any, entity: str) -> str:
    parts = [str(found) for name in _TITLES if (found := fields.find_value(record, name, entity)) not in (None, "")]
    whole = parts[:1] if fields.find_value(record, "TITLE", entity) else parts
    return escape_text(" ".join(whole), limit=_LIMIT) if whole else ""
