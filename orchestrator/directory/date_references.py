"""Resolves "@date:вчера" by its place in a call: a filter, a written field, a command of a batch."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from bitrix.catalogue.catalogue import Method
from bitrix.catalogue.names import to_field_key
from bitrix.client.batch import BatchError, Command, build_cmd, parse_commands
from bitrix.errors import BitrixError
from orchestrator.directory.answers import Ambiguous, AskedDate, DatedParams, Resolution, Resolved, Unresolved
from orchestrator.directory.date_places import find_purpose, find_read_bound, holds_day, is_finished, split_operator
from orchestrator.directory.filter_dates import (
    Bound,
    DateKind,
    DateStop,
    FilterContext,
    expand_filter,
    format_bounds,
    lacks_offset,
    list_date_fields,
    mentions_day,
    parse_iso_day,
    parse_reference,
)
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.directory.value_references import read_day, resolve_date
from orchestrator.domain.actor import Actor
from state.clock import Clock
from state.stored import JsonObject

log = logging.getLogger(__name__)
_FILTER: Final = "filter"
_BATCH: Final = "batch"


@dataclass(frozen=True, kw_only=True)
class DatedCall:
    method: str
    params: JsonObject
    actor: Actor
    chosen: Mapping[str, object]
    spec: Method | None = None
    said_at: datetime | None = None
    """When the words were said, if not just now: "tomorrow" is the day after it."""

    @property
    def reads_only(self) -> bool:
        return self.spec is not None and self.spec.reads_only


class DateReferences:
    def __init__(self, reads: PortalReader, naming: Naming, clock: Clock) -> None:
        self._reads = reads
        self._naming = naming
        self._clock = clock

    async def resolve(
        self, *, method: str, params: JsonObject, actor: Actor, chosen: Mapping[str, object], said_at: datetime | None = None
    ) -> DatedParams | AskedDate | Unresolved:
        """The parameters with all days resolved, the question to the person, or what is wrong with a day."""
        call = DatedCall(method=method, params=params, actor=actor, chosen=chosen, said_at=said_at)
        try:
            resolved, bounds = await self._resolve_call(call)
        except DateStop as stop:
            return stop.result
        return DatedParams(params=resolved, bounds=format_bounds(bounds))

    async def resolve_field(self, call: DatedCall, name: str, words: str, fields: JsonObject) -> Resolution:
        """A past day in a field for what is planned is refused, unless the call or its record is finished."""
        call = replace(call, spec=self._reads.catalogue.find(call.method))
        key = self._find_key(call, name)
        kind = await self._find_kind(call, name)
        now, purpose = self._find_now(call), find_purpose(key, fields)
        if call.reads_only:
            purpose = "fact"
        present = self._clock.now() if call.said_at is not None else None
        date = resolve_date(words, field=key, kind=kind, actor=call.actor, now=now, purpose=purpose, present=present)
        is_past = isinstance(date, Unresolved) and date.notice.code == "date-past"
        if is_past and purpose == "plan" and await self._is_record_finished(call):
            return resolve_date(words, field=key, kind=kind, actor=call.actor, now=now, purpose="fact")
        return date

    def _find_now(self, call: DatedCall) -> datetime:
        return call.said_at or self._clock.now()

    async def _resolve_call(self, call: DatedCall) -> tuple[dict[str, object], list[Bound]]:
        if not mentions_day(call.params) and call.method.lower() != _BATCH:
            return dict(call.params), []
        call = replace(call, spec=self._reads.catalogue.find(call.method))
        bounds: list[Bound] = []
        if call.method.lower() == _BATCH:
            if "cmd" not in call.params:
                return dict(call.params), []
            return {**call.params, "cmd": await self._resolve_commands(call, call.params["cmd"], bounds)}, bounds
        resolved = {name: await self._resolve_item(call, name, item, call.params, bounds) for name, item in call.params.items()}
        return resolved, bounds

    async def _resolve_commands(self, call: DatedCall, cmd: object, bounds: list[Bound]) -> object:
        """What is no valid batch is left to the gate."""
        if isinstance(cmd, Mapping):
            return {key: await self._resolve_command(call, text, bounds) for key, text in cmd.items()}
        return [await self._resolve_command(call, text, bounds) for text in cmd] if isinstance(cmd, list) else cmd

    async def _resolve_command(self, call: DatedCall, text: object, bounds: list[Bound]) -> object:
        try:
            (command,) = parse_commands({"a": text})
            if not mentions_day(command.params):
                return text
            inner = replace(call, method=command.method, params=command.params)
            params, command_bounds = await self._resolve_call(inner)
            bounds += command_bounds
            return text if params == command.params else build_cmd([Command("a", command.method, params)])["a"]
        except (BatchError, ValueError):  # int() refuses text of thousands of digits
            return text

    async def _resolve_item(self, call: DatedCall, name: str, value: object, beside: JsonObject, bounds: list[Bound]) -> object:
        if isinstance(value, Mapping):
            if name.lower() == _FILTER:
                expanded, filter_bounds = expand_filter(value, await self._build_filter_context(call, value))
                bounds += filter_bounds
                return expanded
            return {key: await self._resolve_item(call, str(key), item, value, bounds) for key, item in value.items()}
        if isinstance(value, list):
            return [await self._resolve_item(call, name, item, beside, bounds) for item in value]
        if parse_reference(value) is not None:
            return await self._resolve_reference(call, name, str(value), beside)
        return await self._resolve_plain_day(call, name, value, beside)

    async def _resolve_plain_day(self, call: DatedCall, name: str, value: object, beside: JsonObject) -> object:
        """A time without an offset is one of the person's zone. Raises DateStop for an earlier day in a field for what is planned."""
        day = parse_iso_day(value)
        if day is None or call.reads_only:
            return value
        is_local = lacks_offset(value) and await self._find_kind(call, name) == "datetime"
        today = self._find_now(call).astimezone(ZoneInfo(call.actor.time_zone)).date()
        if not is_local and (day >= today or find_purpose(self._find_key(call, name), beside) != "plan"):
            return value
        field = await self.resolve_field(call, name, str(value), beside)
        if isinstance(field, Unresolved):
            raise DateStop(field)
        return field.value if is_local and isinstance(field, Resolved) else value

    async def _resolve_reference(self, call: DatedCall, name: str, reference: str, beside: JsonObject) -> object:
        words = parse_reference(reference) or ""
        if reference in call.chosen:
            is_day = await self._find_kind(call, name) == "date"
            return str(call.chosen[reference])[:10] if is_day else call.chosen[reference]
        side = find_read_bound(name) if call.reads_only else None
        resolution = (
            await self.resolve_field(call, name, words, beside)
            if side is None
            else read_day(words, side=side, actor=call.actor, now=self._find_now(call))
        )
        match resolution:
            case Resolved(value=value):
                return value
            case Ambiguous():
                raise DateStop(AskedDate(reference=reference, several=resolution))
            case Unresolved():
                raise DateStop(resolution)

    async def _build_filter_context(self, call: DatedCall, conditions: JsonObject) -> FilterContext:
        kinds = {name: await self._find_kind(call, name) for name in dict.fromkeys(list_date_fields(conditions))}
        return FilterContext(now=self._find_now(call), actor=call.actor, kinds=kinds, chosen=call.chosen)

    async def _find_kind(self, call: DatedCall, name: str) -> DateKind:
        """Empty if it is not known, or holds neither."""
        field, entity = split_operator(name)[1], self._naming.find_entity(call.method, call.params)
        if field.lower().startswith("uf"):
            field_type = await self._naming.find_field_type(entity, field)
            return "date" if field_type == "date" else "datetime" if field_type == "datetime" else ""
        key = self._find_key(call, field)
        if holds_day(key):
            return "date"
        known = self._reads.catalogue.entities.get(entity.partition(":")[0])
        info = known.fields.get(known.by_key.get(key, "")) if known is not None else None
        return "date" if info is not None and info.kind == "date" else "datetime" if info is not None and info.kind == "datetime" else ""

    def _find_key(self, call: DatedCall, name: str) -> str:
        spec = call.spec or self._reads.catalogue.find(call.method)
        code = spec.stands_for.get(name, name) if spec is not None else name
        return to_field_key(split_operator(code)[1], self._naming.find_entity(call.method, call.params))

    async def _is_record_finished(self, call: DatedCall) -> bool:
        """Such as a closed deal; False if it cannot be read."""
        spec = call.spec
        if spec is None or spec.verb == "add" or not spec.target:
            return False
        entity = self._naming.find_entity(call.method, call.params)
        number = next((str(call.params[name]) for name in (*spec.target, "ID") if name in call.params), "")
        if not number.isascii() or not number.isdecimal():
            return False
        try:
            record = (await self._reads.load_records([(entity, int(number))]))[entity, int(number)]
        except BitrixError:
            log.info("whether the record is finished is not known", extra={"action": "finished_unknown"})
            return False
        return record is not None and is_finished(record)
