"""Evaluates the owner's rules: all that apply count, and the strictest wins, so no rule cancels another. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from orchestrator.domain.actor import Actor, Mode
from orchestrator.gate.call import critical_fields, fields
from orchestrator.gate.call.effect import Call, Facts, Target
from orchestrator.gate.call.policy import RUBLES, Money
from orchestrator.gate.call.policy_format import Rule, is_match
from orchestrator.gate.normalize import sums
from orchestrator.gate.normalize.sums import RawSum
from state.stored import JsonObject

_OF_ITEMS: Final = "crm.item."
_OF_ROWS: Final = "crm.item.productrow."
_SUM_KEY: Final = fields.to_field_key(sums.SUM)
_PARTS: Final = frozenset({"productrow", "payment", "delivery"})
"""They determine a record's sum: changing one counts as changing the record."""


def is_applicable(rule: Rule, call: Call, *, mode: Mode, actor: Actor, facts: Facts, money: Money = RUBLES) -> bool:
    """To a read a rule applies only by its method, without conditions on fields or sums."""
    if call.reads_only and (not rule.method or rule.field or rule.above is not None or rule.times):
        return False
    return _is_about(rule, call, mode=mode, actor=actor) and _has_values(rule, call, facts, money)


def _is_about(rule: Rule, call: Call, *, mode: Mode, actor: Actor) -> bool:
    if rule.method and not any(is_match(pattern, name) for pattern in rule.method for name in list_method_names(call)):
        return False
    if rule.entity and not any(is_match(pattern, name) for pattern in rule.entity for name in _list_kinds(call)):
        return False
    if rule.person and actor.key.lower() not in {key.lower() for key in rule.person}:
        return False
    return (not rule.role or actor.role in rule.role) and (not rule.mode or mode in rule.mode)


def _has_values(rule: Rule, call: Call, facts: Facts, money: Money) -> bool:
    if rule.field and not critical_fields.to_field_keys(rule.field, call.entity) & find_changed_fields(call, facts):
        return False
    if rule.above is not None and sums.find_sum_above(call, rule.above, facts, money=money, currency=rule.currency) is None:
        return False
    return rule.times is None or next(find_jumps(call, facts, rule.times, money=money), None) is not None


def find_applicable_rules(
    rules: tuple[Rule, ...], call: Call, *, mode: Mode, actor: Actor, facts: Facts, money: Money = RUBLES
) -> Iterator[Rule]:
    return (rule for rule in rules if is_applicable(rule, call, mode=mode, actor=actor, facts=facts, money=money))


def list_method_names(call: Call) -> tuple[str, ...]:
    """A deal changes by crm.item.update and by product rows, too."""
    method = call.listed_as
    lower = method.lower()
    if call.kind != "bitrix" or (call.reads_only and ".productrow" in lower):
        return (method,)
    if lower.startswith(_OF_ROWS):
        owners = [name for name, _ in call.targets if name not in _PARTS]
        verb = lower.removeprefix(_OF_ROWS)
        others = [(f"crm.{owner}.productrows.{verb}", f"crm.{owner}.update", f"{_OF_ITEMS}update") for owner in owners]
        return (method, *(name for names in others for name in names))
    if lower.endswith(".productrows.set"):
        return method, f"{method[: -len('.productrows.set')]}.update"
    if not call.entity or ":" in call.entity or not lower.startswith(_OF_ITEMS):
        return (method,)
    return method, f"crm.{call.entity}.{method[len(_OF_ITEMS) :]}"


def _list_kinds(call: Call) -> tuple[str, ...]:
    return (call.entity, *(name for name, _ in call.targets)) if call.entity in _PARTS else (call.entity,)


def find_changed_fields(call: Call, facts: Facts) -> frozenset[str]:
    """Or sets on a new record; without those that this program added."""
    record = critical_fields.find_current_record(call, facts)
    changed = frozenset(
        fields.to_field_key(call.spec.stands_for.get(name, name), call.entity)
        for name, value in call.written_fields.items()
        if name not in call.system_fields and not _is_idle(call, name, value, record)
    )
    return changed | {_SUM_KEY} if sums.is_sum_recalculated(call, record) else changed


def _is_idle(call: Call, name: str, value: object, record: JsonObject | None) -> bool:
    if call.spec.verb == "add":
        return value in (None, "", [], {})
    return critical_fields.has_value(call, name, value, record)


@dataclass(frozen=True, kw_only=True)
class Jump:
    """`times` is rounded down; None if the sum becomes zero or cannot be compared."""

    field: str
    before: RawSum
    after: RawSum
    times: int | None = None
    in_steps: bool = False
    """`before` is the sum before this program's first change within a day."""


def find_jumps(call: Call, facts: Facts, times: int, *, money: Money = RUBLES) -> Iterator[Jump]:
    """Sums that cannot be compared count, too; one that was zero does not.

    The value before the first change within a day counts as well: small steps can make a large one. The same number in another
    currency is another sum.
    """
    written_sums = find_written_sums(call, facts)
    if not written_sums:
        return
    record = critical_fields.find_current_record(call, facts)
    now, then = sums.find_currencies(call, record)
    target = _find_read_target(call, facts)
    first = facts.first_sums.get(target, {}) if target is not None else {}
    for name, value in written_sums.items():
        known = call.spec.stands_for.get(name, name)
        was = RawSum(value=fields.find_value(record or {}, known, call.entity), currency=now)
        after = RawSum(value=value or 0, currency=then)
        jump = _compare_sums(was, after, field=critical_fields.to_field_code(call, name), times=times, money=money)
        earlier = first.get(fields.to_field_key(known, call.entity))
        if jump is None and earlier is not None:
            steps = _compare_sums(
                RawSum(value=earlier[0], currency=earlier[1]),
                after,
                field=critical_fields.to_field_code(call, name),
                times=times,
                money=money,
            )
            jump = replace(steps, in_steps=True) if steps is not None and steps.times is not None else None
        if jump is not None:
            yield jump


def _compare_sums(was: RawSum, after: RawSum, *, field: str, times: int, money: Money) -> Jump | None:
    before, number = fields.parse_number(was.value), fields.parse_number(after.value)
    if not before:
        return None
    pair = money.convert_pair(abs(number), after.currency, was.currency) if number is not None else None
    old = abs(before) * pair[1] if pair is not None else Decimal(0)
    if pair is not None and old < pair[0] * times and pair[0] < times * old:
        return None
    ratio = int(max(pair[0] / old, old / pair[0])) if pair is not None and pair[0] else None
    return Jump(field=field, before=was, after=after, times=ratio)


def find_sum_owner(call: Call, facts: Facts) -> Target | None:
    """The existing record whose sum the call changes."""
    return _find_read_target(call, facts) if find_written_sums(call, facts) else None


def _find_read_target(call: Call, facts: Facts) -> Target | None:
    for target in call.targets:
        if target in facts.records and facts.records[target] is not None:
            return target
    return None


def find_written_sums(call: Call, facts: Facts) -> dict[str, object]:
    """What an existing record will have: written, computed from rows, or in a new currency."""
    record = critical_fields.find_current_record(call, facts)
    if record is None or call.reads_only or (call.spec.verb == "add" and call.entity not in _PARTS):
        return {}
    written_sums = dict(critical_fields.list_written_amounts(call)) if call.entity not in _PARTS else {}
    for total in sums.calculate_row_totals(call, record):
        written_sums[sums.SUM] = total
    if _SUM_KEY not in map(fields.to_field_key, written_sums) and _is_currency_changed(call, record):
        written_sums[sums.SUM] = fields.find_value(record, sums.SUM, call.entity)  # the record keeps its sum, in another currency
    return written_sums


def _is_currency_changed(call: Call, record: JsonObject) -> bool:
    now, then = sums.find_currencies(call, record)
    return now != then
