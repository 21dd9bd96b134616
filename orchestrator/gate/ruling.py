"""What the owner's rules say of a call: ask, ask twice, a lead, two people, refuse. Ring 2, pure.

All rules apply and the strictest wins, so that no rule, wherever it stands, can take back what another one demands. None allows anything.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from orchestrator.gate import amounts, criticals, fields
from orchestrator.gate.amounts import Sum
from orchestrator.gate.currency import RUBLES, Money
from orchestrator.gate.effects import Call, Facts, Target
from orchestrator.gate.rules import Rule, fits
from orchestrator.messages import Actor, Mode

_OF_ITEMS: Final = "crm.item."
_OF_ROWS: Final = "crm.item.productrow."
_PARTS: Final = frozenset({"productrow", "payment", "delivery"})
"""What belongs to a record and makes its sum: a change of it is one of the record."""


def concerns(rule: Rule, call: Call, *, mode: Mode, actor: Actor, facts: Facts, money: Money = RUBLES) -> bool:
    """Whether it applies to this call or command. Reads are concerned only by a rule that names their method and no values."""
    if call.reads_only and (not rule.method or rule.field or rule.above is not None or rule.times):
        return False
    return _is_about(rule, call, mode=mode, actor=actor) and _has_values(rule, call, facts, money)


def _is_about(rule: Rule, call: Call, *, mode: Mode, actor: Actor) -> bool:
    if rule.method and not any(fits(pattern, name) for pattern in rule.method for name in names_of(call)):
        return False
    if rule.entity and not any(fits(pattern, name) for pattern in rule.entity for name in _kinds(call)):
        return False
    if rule.person and actor.key.lower() not in {key.lower() for key in rule.person}:
        return False
    return (not rule.role or actor.role in rule.role) and (not rule.mode or mode in rule.mode)


def _has_values(rule: Rule, call: Call, facts: Facts, money: Money) -> bool:
    if rule.field and not criticals.squeezed(rule.field, call.entity) & changed(call, facts):
        return False
    if rule.above is not None and amounts.above(call, rule.above, facts, money=money, currency=rule.currency) is None:
        return False
    return rule.times is None or next(jumps(call, facts, rule.times, money=money), None) is not None


def applying(rules: tuple[Rule, ...], call: Call, *, mode: Mode, actor: Actor, facts: Facts, money: Money = RUBLES) -> Iterator[Rule]:
    """The rules that concern a call or one command of a batch, in the order of the file."""
    return (rule for rule in rules if concerns(rule, call, mode=mode, actor=actor, facts=facts, money=money))


def names_of(call: Call) -> tuple[str, ...]:
    """The names a rule may know the call by: a deal has two families of methods and rows that make its sum; none is a way around."""
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


def _kinds(call: Call) -> tuple[str, ...]:
    """The kinds of records that it is about: its own, and of what is a part of another one that one's."""
    return (call.entity, *(name for name, _ in call.targets)) if call.entity in _PARTS else (call.entity,)


def changed(call: Call, facts: Facts) -> frozenset[str]:
    """The keys of the fields that it changes, or sets on a new record; without what the system set."""
    record = criticals.before(call, facts)
    found = frozenset(
        fields.squeeze(call.spec.stands_for.get(name, name), call.entity)
        for name, value in criticals.written_fields(call).items()
        if name not in call.system_fields and not _is_idle(call, name, value, record)
    )
    return found | {fields.squeeze(amounts.SUM)} if amounts.sets_sum(call, record) else found


def _is_idle(call: Call, name: str, value: Any, record: Mapping[str, Any] | None) -> bool:
    if call.spec.verb == "add":
        return value in (None, "", [], {})
    return criticals.holds(call, name, value, record)


@dataclass(frozen=True, kw_only=True)
class Jump:
    """A sum that becomes another one; `times` is None where it falls to nothing or the two cannot be compared."""

    field: str
    before: Sum
    after: Sum
    times: int | None = None
    in_steps: bool = False
    """`before` is where it stood before our first change of it today, not where it stands."""


def jumps(call: Call, facts: Facts, times: int, *, money: Money = RUBLES) -> Iterator[Jump]:
    """Each sum that becomes `times` as large or falls to that part, one that cannot be read or compared among them.

    A sum that stood at nothing cannot be compared with. A million that becomes one of another currency is another sum. One that makes no
    such jump now is compared with where it stood before our own first change of it today.
    """
    record = criticals.before(call, facts)
    now, then = amounts.currencies(call, record)
    target = whose_sum(call, facts)
    first = facts.first_sums.get(target, {}) if target is not None else {}
    for name, value in sums_written(call, facts).items():
        known = call.spec.stands_for.get(name, name)
        was = Sum(value=fields.value_of(record or {}, known, call.entity), currency=now)
        after = Sum(value=value or 0, currency=then)
        found = _jump(was, after, field=criticals.code_of(call, name), times=times, money=money)
        earlier = first.get(fields.squeeze(known, call.entity))
        if found is None and earlier is not None:
            steps = _jump(Sum(value=earlier[0], currency=earlier[1]), after, field=criticals.code_of(call, name), times=times, money=money)
            found = replace(steps, in_steps=True) if steps is not None and steps.times is not None else None
        if found is not None:
            yield found


def _jump(was: Sum, after: Sum, *, field: str, times: int, money: Money) -> Jump | None:
    before, number = fields.number(was.value), fields.number(after.value)
    if not before:
        return None
    pair = money.compared(abs(number), after.currency, was.currency) if number is not None else None
    old = abs(before) * pair[1] if pair is not None else Decimal(0)
    if pair is not None and old < pair[0] * times and pair[0] < times * old:
        return None
    ratio = int(max(pair[0] / old, old / pair[0])) if pair is not None and pair[0] else None
    return Jump(field=field, before=was, after=after, times=ratio)


def whose_sum(call: Call, facts: Facts) -> Target | None:
    """The record that is there and whose sum the call writes; None where there is none."""
    if not sums_written(call, facts):
        return None
    return next((target for target in call.targets if facts.records.get(target) is not None), None)


def sums_written(call: Call, facts: Facts) -> dict[str, Any]:
    """The sums of a record that is there as they will be by the call."""
    record = criticals.before(call, facts)
    if record is None or call.reads_only or (call.spec.verb == "add" and call.entity not in _PARTS):
        return {}
    now, then = amounts.currencies(call, record)
    return dict(_written(call, record, moved=now != then))


def _written(call: Call, record: Mapping[str, Any], *, moved: bool) -> Iterator[tuple[str, Any]]:
    """The sums as they will be: written, made by rows of products, or left as they are in another currency."""
    found = dict(criticals.sums(call)) if call.entity not in _PARTS else {}
    for total in amounts.totals(call, record):
        found[amounts.SUM] = total
    if moved and not any(fields.squeeze(name) == fields.squeeze(amounts.SUM) for name in found):
        found[amounts.SUM] = fields.value_of(record, amounts.SUM, call.entity)
    yield from found.items()
