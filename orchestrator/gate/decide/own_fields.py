"""Values of the company's own fields in the form in which they mean what the person means. Pure.

A number alone would get the portal's currency, whatever stood there, and a time the portal's zone.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from bitrix.catalogue.names import is_custom_field
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import fields
from orchestrator.gate.call.critical_fields import find_current_record, to_field_code
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.reasons import ask
from orchestrator.gate.call.serialization import get_essence
from orchestrator.gate.decide.field_checks import find_list_name
from orchestrator.gate.normalize import batch
from orchestrator.gate.normalize.moments import localize_times
from orchestrator.gate.normalize.sums import RawSum
from orchestrator.language.money_parser import find_amounts
from state.stored import JsonObject

_SUM: Final = re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,6})?)?\|([A-Z]{3})", re.ASCII)


def settle_own_values(call: Call, facts: Facts, text: str, zone: str) -> Call:
    """5000 onto "1000|USD" becomes "5000|USD", or the currency that the person named beside the number; times are the person's."""
    leaves = tuple(_localize(_keep(leaf, facts, text), facts, zone) for leaf in call.leaves)
    if leaves == call.leaves:
        return call
    whole = batch.build_batch(call.spec, leaves, halt=call.halt, portal=call.portal) if call.commands else leaves[0]
    return replace(whole, proposed_essence=get_essence(call))


def collect_own_field_reasons(leaf: Call, facts: Facts, *, is_undo: bool) -> Iterator[Notice]:
    """Another currency, and a file in place of a file: an undo can put it back only if it could be kept, and one in a batch never is."""
    record = find_current_record(leaf, facts)
    if leaf.spec.verb != "update" or record is None:
        return
    known = facts.field_lists.get(find_list_name(leaf), {})
    for name, value in leaf.written_fields.items():
        present = fields.find_value(record, name, leaf.entity) if is_custom_field(name) else None
        before, after = _parse(present), _parse(value)
        if before and after and before[0] and before[1] != after[1]:
            sums = {"before": RawSum(value=before[0], currency=before[1]).text, "after": RawSum(value=after[0], currency=after[1]).text}
            yield ask("gate-sum-currency", field=to_field_code(leaf, name), **sums)
        if name in known and known[name].type == "file" and not fields.is_blank(present) and not is_undo:
            yield ask("gate-file-lost" if leaf.key else "gate-file-field", field=to_field_code(leaf, name))


def _keep(leaf: Call, facts: Facts, text: str) -> Call:
    record = find_current_record(leaf, facts) if leaf.spec.verb == "update" else None
    written = leaf.written_fields
    kept = {name: f"{value}|{currency}" for name, value in written.items() if (currency := _find_currency(leaf, name, value, record, text))}
    if not kept:
        return leaf
    place = leaf.spec.fields_at
    return replace(leaf, params={**leaf.params, place: {**written, **kept}} if place else {**leaf.params, **kept})


def _localize(leaf: Call, facts: Facts, zone: str) -> Call:
    known = facts.field_lists.get(find_list_name(leaf), {})
    return localize_times(leaf, zone, lambda name: known[name].type if name in known else "")


def _find_currency(leaf: Call, name: str, value: object, record: JsonObject | None, text: str) -> str:
    """ "" for what is no number alone in a field that holds a sum with its currency."""
    if record is None or not is_custom_field(name) or (number := fields.parse_number(value)) is None:
        return ""
    present = _parse(fields.find_value(record, name, leaf.entity))
    if not present:
        return ""
    named = {found.currency for found, _, _ in find_amounts(text) if found.amount == number and found.currency}
    return named.pop() if len(named) == 1 else present[1]


def _parse(value: object) -> tuple[str, str] | None:
    """("1000", "USD"); ("", "RUB") for an empty one."""
    match = _SUM.fullmatch(value) if isinstance(value, str) else None
    return (match[1] or "", match[2]) if match is not None else None
