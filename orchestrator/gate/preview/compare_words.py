"""How a changed record fits a request about several that names none: «все лиды Лены, которым нужен софт».

What the call itself writes is no condition.
"""

import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from bitrix.errors import BitrixError
from orchestrator.directory.reference import Reference
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import fields
from orchestrator.gate.call.critical_fields import find_current_record
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.reasons import ask, wrap_in_batch
from orchestrator.gate.normalize.batch import build_command_label
from orchestrator.language.title_matching import is_mentioned
from state.stored import JsonObject

log = logging.getLogger(__name__)

COMPARED: Final = "gate-compared"
UNNAMED: Final = "gate-taint-target"
_STAGES: Final[Mapping[str, str]] = {"deal": "STAGE_ID", "lead": "STATUS_ID"}
_MOST: Final = 4


class _Condition(NamedTuple):
    named: Mapping[str, str]
    held: str
    held_name: str


async def add_comparisons(reasons: Sequence[Notice], call: Call, facts: Facts, text: str, reference: Reference) -> Sequence[Notice]:
    """Adds how a record that nobody named fits the request. Never raises."""
    if not any(UNNAMED in {reason.code, reason.args.get("reason")} for reason in reasons):
        return reasons
    compared = [(leaf, await compare_with_words(leaf, facts, text, reference)) for leaf in call.leaves]
    notices = [(leaf, notice) for leaf, notice in compared if notice is not None]
    if not call.commands:
        return (*reasons, *(notice for _, notice in notices))
    labels = ((leaf, notice, build_command_label(leaf, facts)) for leaf, notice in notices)
    wrapped = (wrap_in_batch("gate-batch-asks", notice, key=leaf.key, method=leaf.method, about=about) for leaf, notice, about in labels)
    return (*reasons, *wrapped)


async def compare_with_words(call: Call, facts: Facts, text: str, reference: Reference) -> Notice | None:
    """None if there is nothing to compare. Never raises."""
    record = find_current_record(call, facts)
    if record is None or call.spec.verb not in {"update", "delete"} or call.entity not in _STAGES:
        return None
    try:
        conditions = [one async for one in _find_conditions(call, record, text, reference)]
    except BitrixError:  # the portal is away: the card says less
        return None
    except Exception:  # a card is shown even without this line
        log.exception("a record cannot be compared", extra={"action": "comparing_failed", "kind": call.entity})
        return None
    fits = [one.held_name for one in conditions if one.held in one.named]
    differs = [f"{' / '.join(one.named.values())} ({one.held_name or '—'})" for one in conditions if one.held not in one.named]
    if not conditions:
        return None
    return ask(COMPARED, fits=", ".join(fits[:_MOST]) or "none", differs=", ".join(differs[:_MOST]), missed=len(differs))


async def _find_conditions(call: Call, record: JsonObject, text: str, reference: Reference) -> AsyncIterator[_Condition]:
    category = str(fields.find_value(record, "CATEGORY_ID", call.entity) or 0)
    users, stages, lists = (
        await reference.load_users(),
        await _load_stages(call.entity, category, reference),
        await _load_lists(call, reference),
    )
    people = {str(number): user.full_name for number, user in users.items()}
    for code, names in {call.entities[call.entity].owner_field: people, _STAGES[call.entity]: stages, **lists}.items():
        condition = _compare(call, record, code, names, text)
        if condition is not None:
            yield condition


async def _load_stages(entity: str, category: str, reference: Reference) -> Mapping[str, str]:
    with suppress(BitrixError):
        return {one.id: one.name for one in await reference.load_stages(entity, int(category) if category.isdecimal() else 0)}
    return {}


async def _load_lists(call: Call, reference: Reference) -> Mapping[str, Mapping[str, str]]:
    with suppress(BitrixError):
        return {code: field.choices for code, field in (await reference.load_fields(call.entity)).items() if field.choices}
    return {}


def _compare(call: Call, record: JsonObject, code: str, names: Mapping[str, str], text: str) -> _Condition | None:
    if not fields.has_field(record, code, call.entity):
        return None
    new_ids = fields.parse_ids(fields.find_value(call.written_fields, code, call.entity))
    names_in_text = {
        value: name for value, name in names.items() if value not in new_ids and any(is_mentioned(part, text) for part in _list_names(name))
    }
    present = next(iter(fields.parse_ids(fields.find_value(record, code, call.entity))), "")
    return _Condition(names_in_text, present, names.get(present, "")) if names_in_text else None


def _list_names(name: str) -> Iterator[str]:
    yield name
    first = name.partition(" ")[0]
    if first != name:
        yield first
