"""Explains whether the gate would allow a call, and what a person may do. Sends nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final, Literal, assert_never

from bitrix.catalogue.catalogue import Method
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.address import KEY_EXAMPLES
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Allow, Ask, PlanOnly, Refuse, Verdict
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.gate.call.policy import LoadedPolicy, load_with_places
from orchestrator.gate.call.policy_format import build_suggestion
from orchestrator.gate.decide.decide import evaluate
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.gate.normalize.sums import CURRENCY
from orchestrator.reports import policy_reasons
from orchestrator.reports.rehearsal.recorded_plans import read_plans
from orchestrator.reports.rehearsal.rehearse import RehearsedPlan, RehearsedStep, Rules, evaluate_plans
from state.journal.store import Store

Outcome = Literal["alone", "card", "lead", "two_people", "refused", "planned"]
_ANYBODY = Actor(key="", name="any manager", bitrix_user_id=1)


@dataclass(frozen=True, kw_only=True)
class HypotheticalCall:
    """From options of the command line; empty if not given."""

    method: str
    field: str = ""
    amount: str = ""
    before: str = ""
    currency: str = ""
    """Of `amount`; the record is in the policy's currency."""
    person: str = ""


@dataclass(frozen=True, kw_only=True)
class Ability:
    act: str
    outcome: Outcome
    reasons: tuple[Notice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ExplainedCall:
    """The gate's verdict on one call; --json writes it as one object."""

    kind: Literal["supposed", "recorded"]
    call: str = ""
    """Of a recorded call."""
    method: str
    person: str
    mode: Mode
    policy: str
    """Checksum of the policy, its version."""
    verdict: str
    taps: int
    then: str = ""
    """What happened to a recorded call; "" for a hypothetical one."""
    reasons: Sequence[policy_reasons.ReasonLine]


def explain_hypothetical(hypothetical_call: HypotheticalCall, rules: Rules, path: Path | None) -> ExplainedCall:
    """As if the record belonged to the person. Raises SettingsError for invalid options."""
    loaded = load_with_places(path)
    method = _find_method(hypothetical_call.method, rules)
    actor = _find_person(hypothetical_call.person, rules)
    explanation = policy_reasons.explain_verdict(
        _decide(hypothetical_call, method, actor, replace(rules, policy=loaded.policy)), method.name, loaded
    )
    return ExplainedCall(
        kind="supposed",
        method=method.name,
        person=_format_person(actor),
        mode=resolve_mode(rules.mode, actor),
        policy=loaded.policy.digest,
        verdict=explanation.verdict,
        taps=explanation.taps,
        reasons=explanation.lines,
    )


def _find_method(name: str, rules: Rules) -> Method:
    method = rules.catalogue.find(name)
    if method is None:
        raise SettingsError(f"--method: {name!r} is not in the catalogue.{build_suggestion(name, [row.name for row in rules.catalogue])}")
    return method


def _decide(hypothetical_call: HypotheticalCall, method: Method, actor: Actor, rules: Rules) -> Verdict:
    """As if the records belonged to the actor."""
    policy = rules.policy
    amount, before = _parse_sum("--amount", hypothetical_call.amount), _parse_sum("--before", hypothetical_call.before)
    field = hypothetical_call.field or ("OPPORTUNITY" if amount is not None else "")
    new_values = {field: str(amount) if amount is not None else "1"} if field else {}
    currency = hypothetical_call.currency.strip().upper()
    new_values |= {CURRENCY: currency} if currency and currency != policy.currency else {}
    effect = policy_reasons.build_supposed_effect(method, new_values)
    call = normalize(effect, catalogue=rules.catalogue, portal=rules.portal, actor=actor, effect_id="explain")
    if isinstance(call, Refuse):
        return call
    facts = policy_reasons.build_supposed_facts(call, actor, rules.catalogue, before, currency=policy.currency)
    named_effect = policy_reasons.add_named_targets(effect, call)
    return evaluate(call, mode=rules.mode, policy=policy, actor=actor, facts=facts, effect=named_effect)[1]


_ACTS: Final = {
    "read-deal": HypotheticalCall(method="crm.deal.get"),
    "add-deal": HypotheticalCall(method="crm.deal.add"),
    "rename-deal": HypotheticalCall(method="crm.deal.update", field="TITLE"),
    "move-deal": HypotheticalCall(method="crm.deal.update", field="STAGE_ID"),
    "sum-deal": HypotheticalCall(method="crm.deal.update", amount="110000", before="100000"),
    "sum-deal-large": HypotheticalCall(method="crm.deal.update", amount="5000000", before="4900000"),
    "sum-deal-jump": HypotheticalCall(method="crm.deal.update", amount="1000000", before="100000"),
    "assign-deal": HypotheticalCall(method="crm.deal.update", field="ASSIGNED_BY_ID"),
    "add-lead": HypotheticalCall(method="crm.lead.add"),
    "rename-contact": HypotheticalCall(method="crm.contact.update", field="NAME"),
    "comment": HypotheticalCall(method="crm.timeline.comment.add"),
    "task-other": HypotheticalCall(method="tasks.task.add"),
    "delete-deal": HypotheticalCall(method="crm.deal.delete"),
}
"""Common acts, by their names in texts."""


def list_abilities(actor: Actor, rules: Rules) -> tuple[Ability, ...]:
    """The usual acts, about records of their own."""
    acts = ((act, hypothetical_call, rules.catalogue.find(hypothetical_call.method)) for act, hypothetical_call in _ACTS.items())
    return tuple(_judge(act, _decide(asked, method, actor, rules)) for act, asked, method in acts if method is not None)


def _judge(act: str, verdict: Verdict) -> Ability:
    match verdict:
        case Allow():
            return Ability(act=act, outcome="alone")
        case PlanOnly():
            return Ability(act=act, outcome="planned")
        case Refuse():
            return Ability(act=act, outcome="refused", reasons=(verdict.reason,))
        case Ask():
            return Ability(
                act=act, outcome="two_people" if verdict.four_eyes else "lead" if verdict.lead else "card", reasons=tuple(verdict.reasons)
            )
        case _:
            assert_never(verdict)


def explain_recorded(call: str, store: Store, rules: Rules, path: Path | None) -> list[ExplainedCall]:
    """By the beginning of their ids; empty without any. Raises StoreError or UnknownEvent."""
    loaded = load_with_places(path)
    plans = evaluate_plans(read_plans(store), rules)
    return [_build_line(plan, step, rules, loaded) for plan in plans for step in plan.steps if step.step.call.startswith(call)]


def _build_line(plan: RehearsedPlan, step: RehearsedStep, rules: Rules, loaded: LoadedPolicy) -> ExplainedCall:
    return ExplainedCall(
        kind="recorded",
        call=step.step.call,
        method=step.step.method,
        person=_format_person(plan.actor) or plan.plan.person,
        mode=resolve_mode(rules.mode, plan.actor) if plan.actor else rules.mode,
        policy=loaded.policy.digest,
        verdict=step.now,
        taps=step.taps,
        then=step.step.fate_with_note,
        reasons=tuple(policy_reasons.explain_reasons(step.reasons, step.now, step.step.method, loaded)),
    )


def _find_person(key: str, rules: Rules) -> Actor:
    if not key:
        return _ANYBODY
    actor = rules.person(key)
    if actor is None:
        raise SettingsError(f"--person: {key!r} is not in the access file; {KEY_EXAMPLES} is needed")
    return actor


def _format_person(actor: Actor | None) -> str:
    if actor is None:
        return ""
    return f"{actor.name} ({actor.key}, {actor.role})" if actor.key else actor.name


def _parse_sum(option: str, typed: str) -> Decimal | None:
    text = typed.replace(" ", "").replace("_", "").replace(",", ".")
    if not text:
        return None
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite():
        raise SettingsError(f"{option}: a sum such as 2500000 is needed, not {typed!r}")
    return amount
