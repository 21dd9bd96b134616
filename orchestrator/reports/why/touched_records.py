"""Which records a call touches, by the catalogue; for methods gone from it, by guess."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bitrix.catalogue.catalogue import Catalogue, Method
from bitrix.catalogue.names import CRM, to_field_key
from bitrix.client.batch import BatchError, Command, parse_commands, restore_keys
from orchestrator.gate.call.lookup import Lookup
from orchestrator.gate.call.targets import as_id, find_entity_by_code, get_at_path
from state.stored import JsonObject

_ADD = "add"
_IDS: Final = ("id", "ID", "taskId", "fields.ENTITY_ID", "fields.ownerId", "fields.OWNER_ID")
_RESULT_KEYS: Final = ("item", "task")
_CLASSIC: Final = re.compile(r"crm\.(lead|deal|contact|company)\.", re.ASCII | re.IGNORECASE)
_WORDS: Final = {"smart": "item", "element": "item", "dynamic": "item"}


@dataclass(frozen=True, kw_only=True)
class TouchedRecord:
    """A call, or a command of a batch (`key`).

    `target` is "deal:481", or "" if it creates a record or has none.
    """

    method: str
    params: JsonObject
    key: str = ""
    entity: str = ""
    target: str = ""
    created_kind: str = ""
    """Empty if it creates none."""
    reads: bool = False
    fields: JsonObject
    """By field name as spelled in the call."""

    def is_writing(self, field: str) -> bool:
        """However the field is spelled: STAGE_ID or stageId."""
        field_key = to_field_key(field, self.entity)
        return any(to_field_key(name, self.entity) == field_key for name in self.fields)


def find_touched_records(method: str, params: object, catalogue: Catalogue) -> list[TouchedRecord]:
    """One for each command of a batch; empty if it cannot be parsed."""
    call_params: JsonObject = params if isinstance(params, Mapping) else {}
    if method.strip().lower() != "batch":
        return [_build_touched(Command("", method, dict(call_params)), catalogue)]
    try:
        commands = restore_keys(parse_commands(call_params.get("cmd")))
    except (BatchError, ValueError):  # a refused batch may have any form
        return []
    return [_build_touched(command, catalogue) for command in commands]


def find_created_record(touch: TouchedRecord, result: object) -> str:
    """Such as "deal:481", or "" if none was created; `result` is the portal's answer."""
    if not touch.created_kind:
        return ""
    if isinstance(result, Mapping):
        box = next((result[name] for name in _RESULT_KEYS if isinstance(result.get(name), Mapping)), result)
        number = as_id(box.get("id") or box.get("ID"))
    else:
        number = as_id(result)
    return f"{touch.created_kind}:{number}" if number else ""


def parse_record(words: Sequence[str], catalogue: Catalogue) -> str:
    """Reads "deal 481" and "deal:481" as "deal:481", "smart 177 5" as "item:177:5"; "" if no record is named."""
    parts = [part for word in words for part in re.split(r"[:\s]+", word.strip().lower()) if part]
    if len(parts) < 2 or as_id(parts[-1]) is None:  # noqa: PLR2004 - a kind and a number
        return ""
    *kind, number = parts
    name = _WORDS.get(kind[0], kind[0])
    if len(kind) == 2 and name == "item" and as_id(kind[1]) is not None:  # noqa: PLR2004 - item and its type
        return f"{find_entity_by_code(kind[1], catalogue) or f'item:{kind[1]}'}:{int(number)}"
    if len(kind) > 1:
        return ""
    known = find_entity_by_code(name.removesuffix("s"), catalogue) or find_entity_by_code(name, catalogue)
    return f"{known}:{int(number)}" if known else ""


def _build_touched(command: Command, catalogue: Catalogue) -> TouchedRecord:
    spec = catalogue.find(command.method)
    if spec is None:
        return _guess_touched(command)
    lookup = Lookup(spec=spec, params=command.params, catalogue=catalogue)
    target = next((f"{entity}:{number}" for entity, number in lookup.targets), "")
    # A comment on a deal is a comment; an item of a smart process is of its own kind.
    created = lookup.kind if spec.entity.startswith("@") or not spec.target_entity else spec.entity
    return TouchedRecord(
        method=command.method,
        params=command.params,
        key=command.key,
        entity=lookup.kind,
        target=target,
        created_kind=created if spec.verb == _ADD else "",
        reads=spec.reads_only,
        fields=_find_written_fields(spec, command.params),
    )


def _find_written_fields(spec: Method, params: JsonObject) -> JsonObject:
    if spec.reads_only:
        return {}
    if spec.fields_at:
        place = params.get(spec.fields_at)
        return place if isinstance(place, Mapping) else {}
    apart = {path.partition(".")[0] for path in (*spec.target, spec.target_entity.removeprefix("@"))}
    return {spec.stands_for.get(name, name): value for name, value in params.items() if name not in apart}


def _guess_touched(command: Command) -> TouchedRecord:
    """For methods gone from the catalogue."""
    words = _CLASSIC.match(command.method)
    entity = words[1].lower() if words else "task" if command.method.lower().startswith("tasks.task.") else ""
    if command.method.lower().startswith("crm.item."):
        number = as_id(command.params.get("entityTypeId"))
        entity = CRM.get(number, f"item:{number}") if number else ""
    identity = next((number for path in _IDS if (number := as_id(get_at_path(command.params, path))) is not None), None)
    fields = command.params.get("fields")
    return TouchedRecord(
        method=command.method,
        params=command.params,
        key=command.key,
        entity=entity,
        target=f"{entity}:{identity}" if entity and identity else "",
        created_kind=entity if command.method.lower().endswith(f".{_ADD}") else "",
        fields=fields if isinstance(fields, Mapping) else {},
    )
