"""What the owner's rules say of a call: ask, ask twice, a lead, two people, refuse. Ring 2, pure.

All rules apply and the strictest wins, so that no rule, wherever it stands, can take back what another one demands. None allows anything.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from orchestrator.gate import criticals, fields
from orchestrator.gate.effects import Call, Facts
from orchestrator.gate.rules import Rule, fits
from orchestrator.messages import Actor, Mode

_OF_ITEMS: Final = "crm.item."


def concerns(rule: Rule, call: Call, *, mode: Mode, actor: Actor, facts: Facts) -> bool:
    """Whether it applies to this call or command. Reads are concerned only by a rule that names their method and no values."""
    if call.reads_only and (not rule.method or rule.field or rule.above is not None or rule.times):
        return False
    return _is_about(rule, call, mode=mode, actor=actor) and _has_values(rule, call, facts)


def _is_about(rule: Rule, call: Call, *, mode: Mode, actor: Actor) -> bool:
    if rule.method and not any(fits(pattern, name) for pattern in rule.method for name in names_of(call)):
        return False
    if rule.entity and not any(fits(pattern, call.entity) for pattern in rule.entity):
        return False
    if rule.person and actor.key.lower() not in {key.lower() for key in rule.person}:
        return False
    return (not rule.role or actor.role in rule.role) and (not rule.mode or mode in rule.mode)


def _has_values(rule: Rule, call: Call, facts: Facts) -> bool:
    if rule.field and not criticals.squeezed(rule.field, call.entity) & changed(call, facts):
        return False
    if rule.above is not None and not exceeds(call, rule.above, facts):
        return False
    return rule.times is None or next(jumps(call, facts, rule.times), None) is not None


def applying(rules: tuple[Rule, ...], call: Call, *, mode: Mode, actor: Actor, facts: Facts) -> Iterator[Rule]:
    """The rules that concern a call or one command of a batch, in the order of the file."""
    return (rule for rule in rules if concerns(rule, call, mode=mode, actor=actor, facts=facts))


def names_of(call: Call) -> tuple[str, ...]:
    """The names a rule may know the call by: a deal has two families of methods, and the other one must be no way around."""
    method = call.listed_as
    if call.kind != "bitrix" or not call.entity or ":" in call.entity or not method.lower().startswith(_OF_ITEMS):
        return (method,)
    return method, f"crm.{call.entity}.{method[len(_OF_ITEMS) :]}"


def changed(call: Call, facts: Facts) -> frozenset[str]:
    """The keys of the fields that it changes, or sets on a new record; without what the system set."""
    record = criticals.before(call, facts)
    return frozenset(
        fields.squeeze(call.spec.stands_for.get(name, name), call.entity)
        for name, value in criticals.written_fields(call).items()
        if name not in call.system_fields and not _is_idle(call, name, value, record)
    )


def _is_idle(call: Call, name: str, value: Any, record: Mapping[str, Any] | None) -> bool:
    if call.spec.verb == "add":
        return value in (None, "", [], {})
    return criticals.holds(call, name, value, record)


def exceeds(call: Call, limit: Decimal, facts: Facts) -> bool:
    """Whether a sum that it writes or that stands on its record is above `limit`; one that cannot be read is."""
    record = criticals.before(call, facts)
    sums = [value for _, value in criticals.sums(call)]
    if record is not None:
        sums.append(fields.value_of(record, "OPPORTUNITY", call.entity))
    elif call.unknown_target and not call.target_created:
        return True
    return any(_is_above(value, limit) for value in sums)


def _is_above(value: Any, limit: Decimal) -> bool:
    if value in (None, "", [], {}):
        return False
    known = fields.number(value)
    return known is None or abs(known) > limit


def jumps(call: Call, facts: Facts, times: int) -> Iterator[tuple[str, Decimal, Decimal | None]]:
    """(field, before, after) of each sum that becomes `times` as large or falls to that part; after is None where it cannot be read.

    A sum that stood at nothing cannot be compared with.
    """
    record = criticals.before(call, facts)
    if record is None or call.spec.verb == "add":
        return
    for name, value in criticals.sums(call):
        before = fields.number(fields.value_of(record, call.spec.stands_for.get(name, name), call.entity))
        after = fields.number(value) if value not in (None, "", [], {}) else Decimal(0)
        if before and (after is None or abs(after) >= times * abs(before) or abs(after) * times <= abs(before)):
            yield criticals.code_of(call, name), before, after
