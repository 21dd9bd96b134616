"""The steps `change.all` and `person.handover`: their names are found as those of a list and of a change are."""

from dataclasses import replace
from typing import Final

from engines.crm_agent.core.planned_steps import Stage
from engines.crm_agent.core.report_step import build_list_step, take_names
from orchestrator.domain.bulk import HAND_OVER, KINDS, PLACE, find_record_kind
from orchestrator.engines.crm_agent.blocks import Step
from state.stored import JsonObject

_SOME: Final = 1
"""Stands for the number of a record while the names in what it gets are found."""
_PERSON: Final = "RESPONSIBLE_ID"


def list_stages(step: Step) -> list[Stage]:
    """The condition, and what the records get, have their names found one after the other."""
    if step.method == HAND_OVER:
        return [(build_people_step, take_people)]
    return [(build_filter_step, take_filter), (build_change_step, take_fields)]


def build_filter_step(step: Step) -> Step:
    """A list with the step's condition."""
    return build_list_step(replace(step, params={"of": step.params.get("of"), "filter": step.params.get("filter") or {}}))


def take_filter(step: Step, resolved: JsonObject) -> Step:
    return take_names(step, {**resolved, "select": []}) if step.params.get("filter") else step


def build_change_step(step: Step) -> Step:
    """A change of one such record with the step's fields, or what is added for one; what is each record's own is no name."""
    params = step.params
    added = params.get("add")
    if isinstance(added, dict):
        return replace(step, method=str(added.get("method") or ""), params={"fields": _list_named(added.get("fields"))})
    kind = find_record_kind(str(params.get("of") or "")) or KINDS["deals"]  # of an unknown one nothing is found, and the gate says why
    return replace(step, method=kind.update, params={**kind.build_target(_SOME), "fields": _list_named(params.get("fields"))})


def _list_named(fields: object) -> JsonObject:
    """Those whose values say the same for all records."""
    return {name: value for name, value in fields.items() if not _is_own(value)} if isinstance(fields, dict) else {}


def _is_own(value: object) -> bool:
    return (isinstance(value, str) and PLACE.fullmatch(value) is not None) or (isinstance(value, list) and any(map(_is_own, value)))


def take_fields(step: Step, resolved: JsonObject) -> Step:
    added = step.params.get("add")
    written = added.get("fields") if isinstance(added, dict) else step.params.get("fields")
    fields = {**written, **(resolved.get("fields") or {})} if isinstance(written, dict) else {}
    if isinstance(added, dict):
        return replace(step, params={**step.params, "add": {**added, "fields": fields}})
    return replace(step, params={**step.params, "fields": fields})


def build_people_step(step: Step) -> Step:
    """A list that holds all people named; not as a condition, so that it is asked who is meant where a name fits several."""
    named = step.params.get("to")
    people = [_to_reference(one) for one in (step.params.get("from"), *(named if isinstance(named, list) else [named]))]
    return replace(step, method=KINDS["tasks"].list, params={_PERSON: people})


def _to_reference(person: object) -> object:
    """A plain name is one with a mark."""
    is_name = isinstance(person, str) and person.strip() and not person.startswith("@") and not person.isdecimal()
    return f"@user:{person}" if is_name else person


def take_people(step: Step, resolved: JsonObject) -> Step:
    people = [_to_number(person) for person in resolved.get(_PERSON) or []]
    return replace(step, params={**step.params, "from": people[0] if people else 0, "to": people[1:]})


def _to_number(person: object) -> object:
    text = str(person)
    return int(text) if text.isascii() and text.isdecimal() else person
