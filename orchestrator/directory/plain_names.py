"""Names that stand in a call without a mark, as weak models write them: STAGE_ID «Финальный счёт», a deadline «завтра в 10:00».

They are read as references are: one that fits is taken, of several the person chooses, and of none it is said what there is.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from bitrix.catalogue.catalogue import Method
from bitrix.catalogue.names import to_field_key
from bitrix.client.batch import BatchError, Command, build_cmd, find_references, parse_commands
from orchestrator.directory.answers import Ambiguous, AskedDate, Resolution, Resolved, Unresolved
from orchestrator.directory.date_places import split_operator
from orchestrator.directory.field_references import FieldReferences
from orchestrator.directory.filter_dates import DateStop, parse_iso_day
from orchestrator.directory.naming import Naming
from orchestrator.directory.person_references import PersonReferences
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.directory.reference import ReferenceContext
from orchestrator.directory.stage_references import StageReferences
from orchestrator.domain.actor import Actor
from state.model.session_state import SessionState
from state.stored import JsonObject

_Kind = Literal["user", "stage", "category", "choice", "date"]
_STANDARD: Final[Mapping[str, _Kind]] = {"user": "user", "stage": "stage", "category": "category", "date": "date", "datetime": "date"}
_OWN: Final[Mapping[str, _Kind]] = {
    "employee": "user",
    "user": "user",
    "enumeration": "choice",
    "crm_status": "choice",
    "date": "date",
    "datetime": "date",
}
_CODE: Final = re.compile(r"[A-Z0-9_:.+-]*", re.ASCII)
_WRITTEN_DAY: Final = re.compile(r"[0-9]{1,2}[.:/][0-9]{1,2}.*", re.ASCII)
_EXACT: Final = frozenset({"", "=", "!", "!=", "@", "!@"})
_BATCH: Final = "batch"
_FILTER: Final = "filter"


@dataclass(frozen=True, kw_only=True)
class _PlainCall:
    method: str
    params: JsonObject
    actor: Actor
    chosen: Mapping[str, object]
    spec: Method


class PlainNames:
    """May raise BitrixError."""

    def __init__(self, reads: PortalReader, naming: Naming) -> None:
        self._catalogue = reads.catalogue
        self._naming = naming
        self._people = PersonReferences(reads, naming)
        self._stages = StageReferences(reads, naming)
        self._fields = FieldReferences(reads, naming)

    async def resolve(
        self, *, method: str, params: JsonObject, actor: Actor, chosen: Mapping[str, object]
    ) -> JsonObject | AskedDate | Unresolved:
        """The parameters with ids for names; words of a day become "@date:…", which `DateReferences` reads by its place."""
        try:
            return await self._replace(method, params, actor, chosen)
        except DateStop as stop:
            return stop.result

    async def _replace(self, method: str, params: JsonObject, actor: Actor, chosen: Mapping[str, object]) -> JsonObject:
        if method.lower() == _BATCH:
            return {name: await self._replace_commands(item, actor, chosen) if name == "cmd" else item for name, item in params.items()}
        spec = self._catalogue.find(method)
        if spec is None:
            return params
        call = _PlainCall(method=method, params=params, actor=actor, chosen=chosen, spec=spec)
        return {name: await self._replace_param(call, name, item) for name, item in params.items()}

    async def _replace_commands(self, cmd: object, actor: Actor, chosen: Mapping[str, object]) -> object:
        """What is no valid batch is left to the gate."""
        if isinstance(cmd, Mapping):
            return {key: await self._replace_command(text, actor, chosen) for key, text in cmd.items()}
        return [await self._replace_command(text, actor, chosen) for text in cmd] if isinstance(cmd, list) else cmd

    async def _replace_command(self, text: object, actor: Actor, chosen: Mapping[str, object]) -> object:
        try:
            (command,) = parse_commands({"a": text})
            params = await self._replace(command.method, command.params, actor, chosen)
            return text if params == command.params else build_cmd([Command("a", command.method, dict(params))])["a"]
        except (BatchError, ValueError):  # int() refuses text of thousands of digits
            return text

    async def _replace_param(self, call: _PlainCall, name: str, value: object) -> object:
        if name.lower() == _FILTER and isinstance(value, Mapping):
            return await self._replace_conditions(call, value)
        if call.spec.reads_only:
            return value
        if call.spec.fields_at and name == call.spec.fields_at and isinstance(value, Mapping):
            return {field: await self._replace_value(call, field, item) for field, item in value.items()}
        return value if call.spec.fields_at else await self._replace_value(call, name, value)

    async def _replace_conditions(self, call: _PlainCall, conditions: JsonObject) -> JsonObject:
        replaced: dict[str, object] = {}
        for key, value in conditions.items():
            if isinstance(value, Mapping):
                replaced[key] = await self._replace_conditions(call, value)
            elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
                replaced[key] = [await self._replace_conditions(call, item) if isinstance(item, Mapping) else item for item in value]
            else:
                replaced[key] = await self._replace_value(call, key, value)
        return replaced

    async def _replace_value(self, call: _PlainCall, key: str, value: object) -> object:
        if isinstance(value, list):
            return [await self._replace_value(call, key, item) if isinstance(item, str) else item for item in value]
        if not isinstance(value, str) or not _is_words(value):
            return value
        operator, name = split_operator(key)
        kind = await self._find_kind(call, name)
        if kind == "date":
            return f"@date:{value.strip()}"
        if kind is None or operator not in _EXACT or not any(map(str.isalpha, value)):
            return value
        reference = f"@{kind}:{value.strip()} in {name}"
        if reference in call.chosen:
            return call.chosen[reference]
        match await self._look_up(call, kind, name, value.strip()):
            case Resolved(value=number):
                return number
            case Ambiguous() as several:
                raise DateStop(AskedDate(reference=reference, several=several))
            case Unresolved() as unresolved:
                raise DateStop(unresolved)

    async def _look_up(self, call: _PlainCall, kind: _Kind, name: str, words: str) -> Resolution:
        place = ReferenceContext(method=call.method, params=call.params, actor=call.actor, state=SessionState(), text="")
        match kind:
            case "user":
                return await self._people.resolve_user(words, place)
            case "stage":
                return await self._stages.resolve_stage(words, place)
            case "category":
                return await self._stages.resolve_category(words, place)
            case _:
                alone = {"entityTypeId": call.params.get("entityTypeId"), "fields": {name: words}}
                return await self._fields.resolve_option(words, words, call.method, alone)

    async def _find_kind(self, call: _PlainCall, name: str) -> _Kind | None:
        entity = self._naming.find_entity(call.method, call.params) if call.spec.entity == "item" else call.spec.entity
        code = call.spec.stands_for.get(name, name)
        known = self._catalogue.entities.get(entity.partition(":")[0])
        info = known.fields.get(known.by_key.get(to_field_key(code, entity), "")) if known is not None else None
        if info is not None and info.kind != "enum":
            return _STANDARD.get(info.kind)
        return _OWN.get(await self._naming.find_field_type(entity, code)) if entity else None


def _is_words(value: str) -> bool:
    """No number, code, reference or ISO time."""
    text = value.strip()
    if not text or text[0] in "@$" or find_references(text) or parse_iso_day(text) is not None:
        return False
    return _CODE.fullmatch(text) is None or _WRITTEN_DAY.fullmatch(text) is not None
