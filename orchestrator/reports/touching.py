"""Which records a recorded call touches, and which of their fields it writes: a batch command by command. Ring 2, pure.

By the rows of the catalogue; a method that no row names any more is read by what its name and its ids say.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bitrix.batch import BatchError, Command, parse_commands
from bitrix.catalogue import Catalogue, Method
from bitrix.names import CRM, squeeze
from orchestrator.gate.targets import as_id, at, by_code, find

_ADD = "add"
_IDS: Final = ("id", "ID", "taskId", "fields.ENTITY_ID", "fields.ownerId", "fields.OWNER_ID")
_BOXES: Final = ("item", "task")
_CLASSIC: Final = re.compile(r"crm\.(lead|deal|contact|company)\.", re.ASCII | re.IGNORECASE)
_WORDS: Final = {"smart": "item", "element": "item", "dynamic": "item"}


@dataclass(frozen=True, kw_only=True)
class Touch:
    """One call, or one command of a batch (`key`), and the record it is about ("" for a new one or none)."""

    method: str
    params: Mapping[str, Any]
    key: str = ""
    entity: str = ""
    target: str = ""
    makes: str = ""
    """The kind of record that it adds."""
    reads: bool = False
    fields: Mapping[str, Any]
    """What it writes, by the name it is written under."""

    def writes(self, field: str) -> bool:
        """Whether it writes that field, in either of its spellings."""
        wanted = squeeze(field, self.entity)
        return any(squeeze(name, self.entity) == wanted for name in self.fields)


def touches(method: str, params: Any, catalogue: Catalogue) -> list[Touch]:
    """What a call does, command by command; nothing for parameters that cannot be read."""
    given = params if isinstance(params, Mapping) else {}
    if method.strip().lower() != "batch":
        return [_touch(Command("", method, dict(given)), catalogue)]
    try:
        commands = parse_commands(given.get("cmd"))
    except (BatchError, ValueError):  # a batch that was refused may be anything
        return []
    return [_touch(command, catalogue) for command in commands]


def made(touch: Touch, result: Any) -> str:
    """The record that a successful add made: "deal:481", or ""."""
    if not touch.makes:
        return ""
    if isinstance(result, Mapping):
        box = next((result[name] for name in _BOXES if isinstance(result.get(name), Mapping)), result)
        number = as_id(box.get("id") or box.get("ID"))
    else:
        number = as_id(result)
    return f"{touch.makes}:{number}" if number else ""


def record_named(words: Sequence[str], catalogue: Catalogue) -> str:
    """ "deal:481" for `deal 481`, `deal:481`, `item:177 5`, `smart 177 5`; "" when the words name no record."""
    parts = [part for word in words for part in re.split(r"[:\s]+", word.strip().lower()) if part]
    if len(parts) < 2 or as_id(parts[-1]) is None:  # noqa: PLR2004 - a kind and a number
        return ""
    *kind, number = parts
    name = _WORDS.get(kind[0], kind[0])
    if len(kind) == 2 and name == "item" and as_id(kind[1]) is not None:  # noqa: PLR2004 - item and its type
        return f"{by_code(kind[1], catalogue) or f'item:{kind[1]}'}:{int(number)}"
    if len(kind) > 1:
        return ""
    known = by_code(name.removesuffix("s"), catalogue) or by_code(name, catalogue)
    return f"{known}:{int(number)}" if known else ""


def _touch(command: Command, catalogue: Catalogue) -> Touch:
    spec = catalogue.find(command.method)
    if spec is None:
        return _guessed(command)
    aim = find(spec, command.params, catalogue)
    target = next((f"{entity}:{number}" for entity, number in aim.targets), "")
    return Touch(
        method=command.method,
        params=command.params,
        key=command.key,
        entity=aim.entity,
        target=target,
        makes=_new_kind(spec, aim.entity) if spec.verb == _ADD else "",
        reads=spec.reads_only,
        fields=_written(spec, command.params),
    )


def _new_kind(spec: Method, about: str) -> str:
    """A comment on a deal makes a comment, an element of a smart process is of the kind it is about."""
    return about if spec.entity.startswith("@") or not spec.target_entity else spec.entity


def _written(spec: Method, params: Mapping[str, Any]) -> Mapping[str, Any]:
    if spec.reads_only:
        return {}
    if spec.fields_at:
        place = params.get(spec.fields_at)
        return place if isinstance(place, Mapping) else {}
    apart = {path.partition(".")[0] for path in (*spec.target, spec.target_entity.removeprefix("@"))}
    return {spec.stands_for.get(name, name): value for name, value in params.items() if name not in apart}


def _guessed(command: Command) -> Touch:
    """What a name and its ids say of a method that the catalogue does not know."""
    words = _CLASSIC.match(command.method)
    entity = words[1].lower() if words else "task" if command.method.lower().startswith("tasks.task.") else ""
    if command.method.lower().startswith("crm.item."):
        number = as_id(command.params.get("entityTypeId"))
        entity = CRM.get(number, f"item:{number}") if number else ""
    identity = next(_ids(command.params), None)
    fields = command.params.get("fields")
    return Touch(
        method=command.method,
        params=command.params,
        key=command.key,
        entity=entity,
        target=f"{entity}:{identity}" if entity and identity else "",
        makes=entity if command.method.lower().endswith(f".{_ADD}") else "",
        fields=fields if isinstance(fields, Mapping) else {},
    )


def _ids(params: Mapping[str, Any]) -> Iterator[int]:
    yield from (number for path in _IDS if (number := as_id(at(params, path))) is not None)
