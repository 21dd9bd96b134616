"""Decides whether a call runs, waits for a person or is refused, as proposed and again in its final form. Pure.

Rights are checked first, so that errors tell nothing about a record. Nothing the model writes makes a verdict milder: `confirmed: true` is
never read here (S004-A1).
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Final

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Effect, Provenance
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import critical_fields, fields, modes
from orchestrator.gate.call.effect import Allow, Ask, Call, Facts, PlanOnly, Refuse, Verdict
from orchestrator.gate.call.kinds.registry import KINDS
from orchestrator.gate.call.params import Refusal
from orchestrator.gate.call.permissions import find_lost_records, find_visible_users
from orchestrator.gate.call.policy import Policy, check_caps
from orchestrator.gate.call.policy_format import Rule
from orchestrator.gate.call.reasons import HANDS_AWAY, ask, refuse, wrap_in_batch
from orchestrator.gate.call.targets import as_id
from orchestrator.gate.decide import consent, evaluate_rules, field_checks, refusals, value_checks
from orchestrator.gate.decide.addressees import collect_addressee_reasons, find_addressee_problem
from orchestrator.gate.decide.bulk_limits import list_exceeded_limits
from orchestrator.gate.decide.calendar_sections import add_sections
from orchestrator.gate.decide.call_partners import add_call_partners, collect_partner_reasons
from orchestrator.gate.decide.discounts import find_discount_problem, price_discount
from orchestrator.gate.decide.kept_places import add_kept_places
from orchestrator.gate.decide.linked_customers import open_lists
from orchestrator.gate.decide.own_fields import collect_own_field_reasons, settle_own_values
from orchestrator.gate.decide.signatures import sign_texts
from orchestrator.gate.normalize import sums
from orchestrator.gate.normalize.batch import build_command_label
from orchestrator.gate.normalize.merge_multifields import merge_multifields, walk_commands
from orchestrator.gate.normalize.sums import SUM, RawSum
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_parser import UnclearSum, find_amounts, parse_sum
from orchestrator.language.orders import speaks_of_change
from orchestrator.language.text import fold
from state.events.base import DEFAULT_ENGINE

_KEY: Final = fields.to_field_key(SUM)
_NUMBER: Final = re.compile(r"[0-9]+(?:[.,][0-9]+)?")
_SPACED: Final = re.compile(r"(?<=[0-9])[ \u00a0\u202f](?=[0-9]{3})")
_WORD_END: Final = re.compile(r"(?=\s)|$")
_MOST_WORDS: Final = 3
_COUNTED: Final = re.compile(load_lexicon("money").join_patterns("counted"))
_MOST_NUMBERS: Final = 12


def find_unnamed_sum(call: Call, facts: Facts, text: str) -> tuple[str, RawSum] | None:
    """A pair (field, sum) that the person's `text` does not give; None also in doubt."""
    if call.reads_only or call.kind != "bitrix":
        return None
    amounts = [(name, value, fields.parse_number(value)) for name, value in critical_fields.list_written_amounts(call)]
    sums = [(name, value, number) for name, value, number in amounts if number and fields.to_field_key(name) == _KEY]
    plain = _list_numbers(text)
    if all(number in plain for _, _, number in sums):  # nearly always: reading the words of a text costs fifty times more
        return None
    own = {number for _, number in call.targets}
    named_sums = [found for found in _list_named_sums(text) if found not in own]
    if not named_sums or _COUNTED.search(fold(text)):
        return None
    record = critical_fields.find_current_record(call, facts) or {}
    present = fields.parse_number(fields.find_value(record, SUM, call.entity) or 0) or Decimal(0)
    possible = _list_possible_sums(named_sums, plain, present)
    for name, value, number in sums:
        if number not in possible:
            return critical_fields.to_field_code(call, name), RawSum(value=value)
    return None


def _list_numbers(text: str) -> list[Decimal]:
    return [Decimal(number.replace(",", ".")) for number in _NUMBER.findall(_SPACED.sub("", text))]


def _list_named_sums(text: str) -> list[Decimal]:
    amounts = [(one.amount, start, end) for one, start, end in find_amounts(text)]
    return [amount for first, start, end in amounts for amount in (first, *_read_longer(text[start:], end - start))]


def _read_longer(text: str, end: int) -> Iterator[Decimal]:
    for space in [*_WORD_END.finditer(text, end + 1)][:_MOST_WORDS]:
        try:
            yield parse_sum(text[: space.start()].strip(" ,;:)")).amount
        except UnclearSum:
            continue


def _list_possible_sums(named_sums: list[Decimal], plain: list[Decimal], present: Decimal) -> frozenset[Decimal]:
    known = list(dict.fromkeys([*named_sums, *plain, present]))[:_MOST_NUMBERS]
    return frozenset((*known, sum(named_sums, Decimal(0)), *_combine(known)))


def _combine(known: list[Decimal]) -> Iterator[Decimal]:
    for first, other in product(known, repeat=2):
        yield from (first + other, first - other, first * other)


_CLOSED: Final = frozenset(
    {
        "gate-batch-delete",
        "gate-closed",
        "gate-delete",
        "gate-handler",
        "gate-kind",
        "gate-mode",
        "gate-needs-application",
        "gate-needs-application-other",
        "gate-policy-refuses",
        "gate-rule-refuses",
    }
)


def reword_refusal(refusal: Refuse, call: Call, provenance: Provenance, facts: Facts) -> Refuse:
    """If the call is not allowed rather than faulty, the turn read others' text, and the person's words speak of no change."""
    code = str(refusal.reason.args.get("reason", refusal.reason.code))
    if not provenance.prose or call.reads_only or code not in _CLOSED:
        return refusal
    leaf = _find_refused(call.leaves, str(refusal.reason.args.get("key", "")))
    if speaks_of_change(provenance.person_text):
        return refusal
    label = build_command_label(leaf, facts)
    return refuse(
        "gate-foreign-request",
        source="message" if provenance.pasted else "record",
        verb=leaf.spec.verb if leaf.spec.verb != "action" else leaf.spec.name.rpartition(".")[2].lower(),
        entity=label.entity or "none",
        title=label.title,
        id=label.number or next(filter(None, (as_id(leaf.params.get(name)) for name in ("id", "ID"))), 0),
        method=leaf.method,
    )


def _find_refused(leaves: Iterable[Call], key: str) -> Call:
    calls = list(leaves)
    return next((leaf for leaf in calls if leaf.key == key), calls[0])


def decide(call: Call, *, mode: Mode, policy: Policy, actor: Actor, facts: Facts, effect: Effect) -> Verdict:
    """The verdict on exactly this call (S004-8, S004-25, S004-28 to S004-30). Never raises."""
    mode = modes.resolve_mode(mode, actor)
    ruled = [
        (leaf, rule)
        for leaf, then in _walk(call, facts)
        for rule in (
            evaluate_rules.find_applicable_rules(policy.rules, leaf, mode=mode, actor=actor, facts=then, money=policy.money)
            if policy.rules
            else ()
        )
    ]
    refusal = _refusal(call, mode=mode, policy=policy, actor=actor, facts=facts, effect=effect) or _refuse_by_rule(call, ruled, facts)
    if refusal is not None:
        return refusal
    if mode == "shadow" and not (call.kind in KINDS and call.method in KINDS[call.kind].in_shadow):
        return PlanOnly()
    outer_reasons = list(_collect_outer_reasons(call, policy=policy, actor=actor, facts=facts, effect=effect))
    outer_reasons.extend(_collect_command_reasons(call, policy=policy, actor=actor, facts=facts, effect=effect))
    jumps = list(_collect_jump_reasons(call, policy, facts))
    outer_reasons.extend(jumps)
    outer_reasons.extend(_add_command_label(call, leaf, ask("gate-rule", why=rule.why), facts) for leaf, rule in ruled)
    limits = list(list_exceeded_limits(facts, policy, actor))
    outer_reasons.extend(limits)
    if not outer_reasons:
        return Allow()
    outer_reasons = _leave_shown_records(call, outer_reasons, effect.provenance)
    outer_reasons.extend(_collect_loss_reasons(call, actor, facts))
    outer_reasons.extend(_collect_unnamed_sums(call, facts, effect))
    reasons = {notice.model_dump_json(): notice for notice in outer_reasons}.values() if len(outer_reasons) > 1 else outer_reasons
    demanded = {rule.then for _, rule in ruled}
    file = facts.bulk
    twice = "D" in call.classes or bool(jumps) or "ask_twice" in demanded or (file is not None and file.taps > 1)
    four_eyes = "two_people" in demanded or _find_largest_above(call, policy.four_eyes_above, policy, facts) is not None
    four_eyes = four_eyes or bool(limits) or (file is not None and file.four_eyes)
    lead = four_eyes or "lead" in demanded or (file is not None and file.lead)
    return Ask(reasons=tuple(reasons), taps=2 if twice else 1, four_eyes=four_eyes, lead=lead)


def _leave_shown_records(call: Call, reasons: list[Notice], provenance: Provenance) -> list[Notice]:
    """Without the remark that a record was not named, where code showed it to the person: never if nothing else asks."""
    if not provenance.shown or provenance.prose or "N" in call.classes:
        return reasons
    left = [notice for notice in reasons if not _is_about_shown(notice, provenance.shown)]
    return left if any(str(notice.args.get("reason", notice.code)) != consent.BESIDE for notice in left) else reasons


def _is_about_shown(notice: Notice, shown: Collection[str]) -> bool:
    is_unnamed = str(notice.args.get("reason", notice.code)) == consent.UNNAMED
    return is_unnamed and f"{notice.args.get('entity')}:{notice.args.get('id')}" in shown


def _refusal(call: Call, *, mode: Mode, policy: Policy, actor: Actor, facts: Facts, effect: Effect) -> Refuse | None:
    if (effect.confirmation_decision or "").strip().lower() == "deny":
        return refuse("gate-withdrawn")
    if effect.must_read and not call.reads_only:
        return refuse("gate-must-read", method=call.method)
    if find_visible_users(actor) == frozenset():
        return refuse("gate-no-user", name=actor.name)
    if call.commands and policy.is_listed(policy.refuse_methods, call.method):
        return refuse("gate-policy-refuses", method=call.method)
    is_undo = effect.proposed_by == value_checks.UNDO
    refused = [
        (leaf, refusal)
        for leaf in call.leaves
        if (refusal := refusals.find_refusal(leaf, mode=mode, policy=policy, actor=actor, facts=facts, is_undo=is_undo)) is not None
    ]
    if refused:
        return _select_refusal(call, refused, facts)
    if facts.denied_in_turn:
        return refuse("gate-denied-now")
    # A file's own limits count for it as a whole.
    return check_caps(call, policy.caps.model_copy(update={"writes_per_day": None}) if effect.part_of else policy.caps, facts)


def _refuse_by_rule(call: Call, ruled: list[tuple[Call, Rule]], facts: Facts) -> Refuse | None:
    """`decide` checks rights before, so that it reveals nothing about a record."""
    refused = [(leaf, refuse("gate-rule-refuses", why=rule.why)) for leaf, rule in ruled if rule.then == "refuse"]
    return _select_refusal(call, refused, facts) if refused else None


def _select_refusal(call: Call, refused: list[tuple[Call, Refuse]], facts: Facts) -> Refuse:
    """In a batch that of a deletion comes first; it names its command."""
    leaf, refusal = next(((one, why) for one, why in refused if why.reason.code == "gate-delete"), refused[0])
    if not call.commands:
        return refusal
    if refusal.reason.code == "gate-delete":
        closed = refuse("gate-batch-delete", key=leaf.key, method=leaf.method)
        notice = wrap_in_batch("gate-batch-delete", closed.reason, key=leaf.key, method=leaf.method, about=build_command_label(leaf, facts))
        return replace(closed, reason=notice)
    notice = wrap_in_batch(
        "gate-batch-refused",
        refusal.reason,
        key=leaf.key,
        method=leaf.method,
        about=build_command_label(leaf, facts, why=refusal.reason.code),
    )
    return Refuse(reason=notice, detail=f"command {leaf.key} ({leaf.method}) of the batch: {refusal.detail}")


def _collect_outer_reasons(call: Call, *, policy: Policy, actor: Actor, facts: Facts, effect: Effect) -> Iterator[Notice]:
    if call.commands and policy.is_listed(policy.ask_methods, call.method):
        yield ask("gate-policy-method", method=call.method)
    if not call.reads_only and policy.is_listed(policy.ask_people, actor.key):
        yield ask("gate-policy-person", name=actor.name)
    for code, limit in (("gate-policy-amount", policy.ask_above), ("gate-four-eyes", policy.four_eyes_above)):
        over = _find_largest_above(call, limit, policy, facts)
        if over is not None:
            yield ask(code, amount=over.text, limit=sums.RawSum(value=f"{limit:f}", currency=policy.currency).text)
    if effect.requires_confirmation:
        yield ask("gate-undo" if effect.proposed_by == "undo" else "gate-model-asks")
    repeated = _count_repeated_writes(call)
    if repeated:
        yield ask("gate-batch-twice", count=repeated)
    if facts.denied_at:
        yield ask("gate-denied-before", at=facts.denied_at, by=facts.denied_by or "?")


def _count_repeated_writes(call: Call) -> int:
    writes = [leaf.essence for leaf in call.commands if not leaf.reads_only]
    return len(writes) - len(set(writes))


def _collect_command_reasons(call: Call, *, policy: Policy, actor: Actor, facts: Facts, effect: Effect) -> Iterator[Notice]:
    for leaf in call.leaves:
        ask_methods = policy.ask_methods
        is_listed = bool(ask_methods) and any(policy.is_listed(ask_methods, name) for name in evaluate_rules.list_method_names(leaf))
        notices = [ask("gate-policy-method", method=leaf.method)] if is_listed else []
        notices.extend(critical_fields.collect_ask_reasons(leaf, policy=policy, actor=actor, facts=facts))
        if leaf.kind != "bitrix":
            notices.extend(KINDS[leaf.kind].collect_reasons(leaf, facts))
        notices.extend(collect_own_field_reasons(leaf, facts, is_undo=effect.proposed_by == value_checks.UNDO))
        if effect.proposed_by == DEFAULT_ENGINE:  # what is published says by itself with whom a call was
            notices.extend(collect_partner_reasons(leaf, facts, effect.provenance.person_text, actor))
        if effect.proposed_by == DEFAULT_ENGINE or "N" in leaf.classes:
            notices.extend(collect_addressee_reasons(leaf, facts))
        notices.extend(consent.collect_consent_reasons(leaf, effect.provenance, policy, facts, own_user=actor.bitrix_user_id))
        for notice in notices:
            yield _add_command_label(call, leaf, notice, facts)


def _collect_jump_reasons(call: Call, policy: Policy, facts: Facts) -> Iterator[Notice]:
    """A sum with a digit too many is the most common and most expensive mistake."""
    if policy.sum_jump is None:
        return
    for leaf, then in _walk(call, facts):
        for jump in [] if leaf.reads_only else evaluate_rules.find_jumps(leaf, then, policy.sum_jump, money=policy.money):
            yield _add_command_label(call, leaf, _build_jump_reason(jump), facts)


def _collect_loss_reasons(call: Call, actor: Actor, facts: Facts) -> Iterator[Notice]:
    """For a card that is needed anyway: it is no reason to ask."""
    lost = find_lost_records(call, facts.records, actor)
    if lost:
        kinds = {target[0].partition(":")[0] for target in lost}
        entity = kinds.pop() if len(kinds) == 1 else ""
        yield ask(HANDS_AWAY, who=actor.name, entity=entity, id=lost[0][1], many="yes" if len(lost) > 1 else "no")


def _collect_unnamed_sums(call: Call, facts: Facts, effect: Effect) -> Iterator[Notice]:
    """For a card that is needed anyway: it is no reason to ask."""
    if effect.proposed_by != DEFAULT_ENGINE:  # of all others, such as a new value on a card, `person_text` is no request
        return
    for leaf in call.leaves:
        unnamed = find_unnamed_sum(leaf, facts, effect.provenance.person_text)
        if unnamed is not None:
            yield _add_command_label(call, leaf, ask("gate-sum-unnamed", field=unnamed[0], sum=unnamed[1].plain), facts)


def _build_jump_reason(jump: evaluate_rules.Jump) -> Notice:
    other = jump.before.currency != jump.after.currency
    before, after = (jump.before.text, jump.after.text) if other else (jump.before.plain, jump.after.plain)
    args = {"field": jump.field, "before": before, "after": after}
    if jump.in_steps:
        return ask("gate-sum-steps", times=jump.times, **args)
    if other:
        return ask("gate-sum-currency", **args)
    return ask("gate-sum-lost", **args) if jump.times is None else ask("gate-sum-jump", times=jump.times, **args)


def _add_command_label(call: Call, leaf: Call, notice: Notice, facts: Facts) -> Notice:
    if not call.commands:
        return notice
    return wrap_in_batch("gate-batch-asks", notice, key=leaf.key, method=leaf.method, about=build_command_label(leaf, facts))


def _walk(call: Call, facts: Facts) -> Iterable[tuple[Call, Facts]]:
    """Several rows of one batch reach a limit that none of them reaches alone."""
    return walk_commands(call, facts) if call.commands else ((call, facts),)


def _find_largest_above(call: Call, limit: Decimal | None, policy: Policy, facts: Facts) -> sums.RawSum | None:
    if limit is None:
        return None
    sums_above = (sums.find_sum_above(leaf, limit, then, money=policy.money) for leaf, then in _walk(call, facts) if not leaf.reads_only)
    return sums.find_largest_sum(over for over in sums_above if over is not None)


def evaluate(call: Call, *, mode: Mode, policy: Policy, actor: Actor, facts: Facts, effect: Effect) -> tuple[Call, Verdict]:
    """The call in the form in which it would be sent, and the verdict on it. Never raises."""
    verdict = decide(call, mode=mode, policy=policy, actor=actor, facts=facts, effect=effect)
    if isinstance(verdict, Refuse):
        return call, reword_refusal(verdict, call, effect.provenance, facts)
    text = effect.provenance.person_text
    try:
        fine = merge_multifields(
            add_call_partners(add_sections(open_lists(add_kept_places(call, facts), facts, actor), facts), facts, text), facts
        )
        fine = fine if effect.proposed_by == "undo" else price_discount(fine, facts)
        fine = settle_own_values(fine, facts, text, actor.time_zone)
        fine = fine if effect.proposed_by == "undo" else sign_texts(fine, facts, actor)
    except Refusal as refusal:
        return call, refusal.verdict
    wrong = field_checks.find_field_problem(fine, facts=facts, actor=actor)
    wrong = wrong or value_checks.find_value_problem(fine, facts=facts, actor=actor, effect=effect)
    wrong = wrong or find_addressee_problem(fine, facts)
    wrong = wrong or (None if effect.proposed_by == "undo" else find_discount_problem(fine, facts))
    if wrong is not None:
        return fine, replace(wrong, is_form=True)
    if (unlike := sums.check_currencies(fine, facts, money=policy.money, text=text)) is not None:
        return fine, unlike
    return fine, verdict if fine is call else decide(fine, mode=mode, policy=policy, actor=actor, facts=facts, effect=effect)
