"""The record that a conversation is about, of each kind: what "@current" means. After several at once there is none."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from bitrix.catalogue.names import LINKS, to_field_key
from state.model.card import Card
from state.model.session_state import SessionState
from state.stored import JsonObject

LETTERS: Final = {"lead": "L", "deal": "D", "contact": "C", "company": "CO"}
_OPERATORS: Final = "<>=!@%*?~"


def is_binding_field(name: str) -> bool:
    return to_field_key(name.lstrip(_OPERATORS)) in LINKS


def to_binding(kind: str, number: object) -> str:
    """Empty if nothing is tied to this kind."""
    return f"{LETTERS[kind]}_{number}" if kind in LETTERS else ""


def strip_letters(params: JsonObject) -> JsonObject:
    return {name: _strip(value, name) for name, value in params.items()}


def find_bound_references(value: object, name: str = "") -> list[str]:
    """Without those to records yet to be made."""
    if isinstance(value, Mapping):
        return [bound_reference for key, item in value.items() for bound_reference in find_bound_references(item, str(key))]
    if isinstance(value, list):
        return [bound_reference for item in value for bound_reference in find_bound_references(item, name)]
    is_reference = isinstance(value, str) and value.startswith("@") and not value.startswith("@created")
    return [str(value)] if is_reference and is_binding_field(name) else []


def replace_bound_references(value: object, bindings: Mapping[str, str], name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: replace_bound_references(item, bindings, str(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [replace_bound_references(item, bindings, name) for item in value]
    return bindings.get(value, value) if isinstance(value, str) and is_binding_field(name) else value


def _strip(value: object, name: str) -> object:
    if isinstance(value, dict):
        return {key: _strip(item, str(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_strip(item, name) for item in value]
    if isinstance(value, str) and is_binding_field(name):
        letter, sign, rest = value.partition("_@")
        return f"@{rest}" if sign and letter.strip().upper() in LETTERS.values() else value
    return value


CURRENT: Final = {
    "deal": "current_deal_id",
    "lead": "current_lead_id",
    "contact": "current_contact_id",
    "company": "current_company_id",
    "task": "current_task_id",
}
_SPOKEN_OF: Final = frozenset({*CURRENT, "activity", "item"})
_PROSE: Final = "gate-taint-prose"
"""Free text of others was read in the turn."""


def find_current(state: SessionState, kind: str) -> int | None:
    """None also if the last turn changed several."""
    return list_current(state, (kind,)).get(kind)


def list_current(state: SessionState, kinds: Collection[str] = CURRENT) -> Mapping[str, int]:
    objects = state.agent.objects
    numbers = {
        kind: number for kind in kinds if kind in CURRENT and (key := CURRENT[kind]) in objects and type(number := objects[key]) is int
    }
    turns = _list_changes(state) if numbers else []
    return {kind: number for kind, number in numbers.items() if not _is_one_of_several(number, CURRENT[kind], turns)}


def list_tie_candidates(state: SessionState) -> Mapping[str, int]:
    """Without the customers of a current deal or lead: people speak of the deal."""
    numbers = {kind: number for kind, number in list_current(state).items() if kind != "task"}
    links = state.agent.objects.get("links") or {}
    linked = {one for kind, number in numbers.items() for one in links.get(f"{kind}:{number}", ()) if not one.startswith(f"{kind}:")}
    return {kind: number for kind, number in numbers.items() if f"{kind}:{number}" not in linked}


def list_numbers_in_hand(state: SessionState) -> frozenset[str]:
    """Of steps that wait or did not run, and of what the last two turns changed. Not what was proposed after free text of others."""
    agent = state.agent
    waiting = (item for item in agent.confirmations.values() if item.is_waiting)
    open_steps: list[object] = [item.params for item in waiting if not any(_is_about_prose(reason) for reason in item.reasons)]
    open_steps += [item.get("params") for item in agent.next_planned_actions if not item.get("prose")]
    changed = [ids for changes in _list_changes(state)[-1:] for ids in changes]
    numbers: set[str] = set()
    for values in (*open_steps, *changed):
        _collect_numbers(values, numbers)
    return frozenset(numbers)


def list_approved_records(state: SessionState, by: str) -> frozenset[str]:
    """What the person `by` has asked for and approved since the message before: the record that the card named, or made.

    Also the record on which a changed activity stands, which the gate has read and the card has named. Not what was proposed after free
    text of others, nor several at once.
    """
    since = next(iter(_list_message_times(state)), "")
    cards = (
        (item for item in state.agent.confirmations.values() if item.status == "executed" and item.executed_at >= since) if since else ()
    )
    own = [card for card in cards if by and card.requested_by == card.approved_by == by and not _is_of_others(card)]
    named = (value for card in own for value in (card.preview.get("record"), card.preview.get("place"), card.created))
    return frozenset(target for value in named if (target := str(value or "")).partition(":")[0] in _SPOKEN_OF)


def _is_of_others(card: Card) -> bool:
    is_tainted = bool(card.provenance.get("prose") or card.provenance.get("pasted"))
    return is_tainted or bool(card.preview.get("items")) or any(_is_about_prose(reason) for reason in card.reasons)


def _is_about_prose(reason: JsonObject) -> bool:
    """In a batch, the command's own reason stands inside."""
    args = reason.get("args")
    return _PROSE in {reason.get("code"), args.get("reason") if isinstance(args, Mapping) else None}


def _collect_numbers(value: object, numbers: set[str]) -> None:
    if type(value) is int or type(value) is str:
        if (text := str(value)).isdecimal():
            numbers.add(text)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect_numbers(item, numbers)
    elif isinstance(value, Mapping):
        for item in value.values():
            _collect_numbers(item, numbers)


def _list_message_times(state: SessionState) -> list[str]:
    return [line.ts for line in state.history if line.role == "user"][-2:]


def _list_changes(state: SessionState) -> list[list[JsonObject]]:
    """Since the last message, and since the one before it."""
    message_times = _list_message_times(state) if state.agent.done else []
    if not message_times:
        return []
    oldest = min(message_times)  # compared first: all that was ever done in the conversation is looked through several times a turn
    recent = [item for item in state.agent.done if str(item.get("timestamp", "")) >= oldest]
    dated = [(str(item["timestamp"]), item["object_ids"]) for item in recent if "object_ids" in item]
    return [[ids for at, ids in dated if at >= since] for since in reversed(message_times)]


def _is_one_of_several(number: int, key: str, turns: list[list[JsonObject]]) -> bool:
    """Of several changed together in this turn, or if it changed none, in the turn before."""
    for changes in turns:
        if changed := {ids[key] for ids in changes if key in ids and type(ids[key]) is int}:
            return number in changed and len(changed) > 1
    return False
