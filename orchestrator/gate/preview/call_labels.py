"""Names a call in messages; stored before the call runs, so that it has a name even when the portal is away."""

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bitrix.errors import BitrixError
from orchestrator.directory.created_references import REFERENCE
from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import Preview, PreviewLine
from orchestrator.domain.effect import Effect
from orchestrator.domain.own_reads import NEXT
from orchestrator.gate.call import effect_kinds
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.ports import Names
from orchestrator.gate.call.serialization import _build_label_args, build_doubt_args, build_effect_id
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.gate.preview.following_steps import NEW_RECORD
from orchestrator.gate.preview.preview import find_verb, preview, preview_for
from orchestrator.language.money_format import NO_CURRENCY_BOOK, CurrencyBook
from orchestrator.language.text import Locale, trim_text
from state.stored import JsonObject

log = logging.getLogger(__name__)

_CHANGES = 3
_TITLES = 3
_VALUE = 60
_WITHIN = 2.0
"""Seconds for names of people and stages, which mostly are known already."""
_REFERENCE = re.compile(r"@(?!created)[a-z]{2,10}:\s*")
_CREATED = re.compile(r"@created:\s*[0-9]{1,2}")
"""A record that was not made."""


def build_call_label(call: Call, card: Preview) -> JsonObject:
    """The arguments of `call-named` in `bot/i18n`; texts come from `card`."""
    if call.commands:
        titles = [item.title for item in card.items if item.title]
        return _build_label_args(call.method, verb="batch", count=len(card.items), title="», «".join(_truncate(titles, _TITLES)))
    lines = [
        line
        for line in card.lines
        if not line.is_held and line.field not in call.system_fields and line.after != card.title and not _CREATED.fullmatch(line.after)
    ]
    changes = "; ".join(_truncate([_format_change(line) for line in lines], _CHANGES))
    return _build_label_args(call.method, verb=card.verb, entity=card.entity, title=card.title, changes=changes)


def build_read_label(method: str, verb: str, entity: str) -> JsonObject:
    return _build_label_args(method, verb=verb, entity=entity)


async def build_offline_label(call: Call, facts: Facts, actor: Actor) -> JsonObject:
    """{} if that fails. Built from `facts` alone; reads and raises nothing."""
    try:
        return build_call_label(call, await preview(call, facts, _LabelNames(), locale=actor.locale, zone=actor.time_zone))
    except Exception:  # the label is optional: the call has been checked and runs without one
        log.exception("a call cannot be named", extra={"action": "naming_failed", "method": call.method})
        return {}


def _format_change(line: PreviewLine) -> str:
    old, new = (trim_text(", ".join(value.split("\n")), limit=_VALUE) for value in (line.before, line.after))
    new = _REFERENCE.sub("", new)  # as the model wrote it, where nothing has that name
    return f"{line.name}: {old} → {new}" if line.before else f"{line.name}: {new}"


def _truncate(items: Sequence[str], most: int) -> list[str]:
    return [*items[:most], "…"] if len(items) > most else list(items)


class _LabelNames:
    """Of people, stages and fields, which everybody may read; of no record, as it may be somebody else's. Without `names` of nothing."""

    def __init__(self, names: Names | None = None) -> None:
        self._names = names

    async def find_user_name(self, user_id: int) -> str:
        return await self._names.find_user_name(user_id) if self._names else ""

    async def find_stage_name(self, entity: str, stage_id: str, category_id: int = 0) -> str:
        return await self._names.find_stage_name(entity, stage_id, category_id) if self._names else ""

    async def find_category_name(self, category_id: int, entity: str = "deal") -> str:
        return await self._names.find_category_name(category_id, entity) if self._names else ""

    async def find_kind_name(self, entity: str, locale: Locale) -> str:
        return await self._names.find_kind_name(entity, locale) if self._names else ""

    async def find_field_title(self, entity: str, name: str) -> str:
        return await self._names.find_field_title(entity, name) if self._names else ""

    async def find_title(self, *_of: object) -> str:
        return ""

    find_name_by_read = find_payee = find_title

    async def describe_field_value(self, *_of: object, locale: Locale, zone: str) -> None:
        """No value has words."""

    async def load_currency_book(self) -> CurrencyBook:
        return await self._names.load_currency_book() if self._names else NO_CURRENCY_BOOK

    def build_card_url(self, *_of: object, **_as: object) -> str:
        return ""


@dataclass(frozen=True, kw_only=True)
class ProposalLabel:
    """A change that an engine proposed."""

    named: JsonObject
    """The arguments of `call-named` in `bot/i18n`, with the id of the effect."""
    essence: str = ""
    """`Call.essence`; "" where the proposal could not be normalized."""


async def describe_proposal(effect: Effect, *, deps: GateDeps, portal: str, actor: Actor) -> ProposalLabel | None:
    """None if the proposed call changes nothing. Never raises."""
    catalogue = deps.catalogue
    effect_id = build_effect_id(effect.slot)
    if effect.method == NEXT:
        return None
    call = normalize(effect, catalogue=catalogue, portal=portal, actor=actor, effect_id=effect_id)
    bare = build_doubt_args(effect_id, {"call": {"method": effect.method}, "confirmation_id": ""})
    if isinstance(call, Refuse):
        spec = catalogue.find(effect.method) or effect_kinds.find_effect_kind(
            effect_kinds.resolve_kind(effect.kind, effect.method), effect.method
        )
        if spec is not None and set(spec.classes) <= {"R"}:
            return None
        return ProposalLabel(named=bare | ({"verb": find_verb(spec), "entity": spec.entity} if spec else {}))
    if call.reads_only:
        return None
    try:
        async with asyncio.timeout(_WITHIN):
            label = build_call_label(call, await preview_for(actor, call, Facts(), _LabelNames(deps.names)))
    except (BitrixError, TimeoutError):
        label = await build_offline_label(call, Facts(), actor)
    named = {name: _name_new_records(value, actor.locale) for name, value in (label or bare).items()}
    return ProposalLabel(named={**named, "effect_id": effect_id}, essence=call.essence)


def _name_new_records(value: object, locale: Locale) -> object:
    return REFERENCE.sub(NEW_RECORD[locale], value) if isinstance(value, str) else value
