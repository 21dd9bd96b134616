"""Explains, for `sdelka policy explain`, whether the gate would allow one call. It uses the gate's own functions and sends nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Literal

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.errors import SettingsError
from orchestrator.gate.call.effect import Refuse, Verdict
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.gate.call.policy import LoadedPolicy, load_with_places
from orchestrator.gate.call.policy_format import build_suggestion
from orchestrator.gate.decide import explain
from orchestrator.gate.decide.decide import evaluate
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.gate.normalize.sums import CURRENCY
from orchestrator.reports.rehearsal.recorded_plans import read_plans
from orchestrator.reports.rehearsal.rehearse import RehearsedPlan, RehearsedStep, Rules, evaluate_plans
from state.journal.store import Store

_ANYBODY = Actor(key="", name="any manager", bitrix_user_id=1)


@dataclass(frozen=True, kw_only=True)
class HypotheticalCall:
    """A call that was not made, described by command line options; an empty field was not given."""

    method: str
    field: str = ""
    amount: str = ""
    before: str = ""
    currency: str = ""
    """Currency of `amount`; the record is assumed to be in the policy's currency."""
    person: str = ""


@dataclass(frozen=True, kw_only=True)
class ExplainedCall:
    """The verdict of the gate on one call, with the reasons; --json writes it as one object."""

    kind: Literal["supposed", "recorded"]
    call: str = ""
    """The id of a recorded call."""
    method: str
    person: str
    mode: Mode
    policy: str
    """The checksum of the policy, which serves as its version."""
    verdict: str
    taps: int
    then: str = ""
    """What happened to a recorded call at the time; "" for a hypothetical one."""
    reasons: Sequence[explain.ReasonLine]


def explain_hypothetical(asked: HypotheticalCall, rules: Rules, path: Path | None) -> ExplainedCall:
    """Return the verdict of the gate on a call that was not made, assuming that the record it changes belongs to the person who asks.

    Raises SettingsError for invalid options.
    """
    loaded = load_with_places(path)
    method = rules.catalogue.find(asked.method)
    if method is None:
        raise SettingsError(
            f"--method: {asked.method!r} is not in the catalogue.{build_suggestion(asked.method, [row.name for row in rules.catalogue])}"
        )
    actor = _find_person(asked.person, rules)
    amount, before = _parse_sum("--amount", asked.amount), _parse_sum("--before", asked.before)
    field = asked.field or ("OPPORTUNITY" if amount is not None else "")
    written = {field: str(amount) if amount is not None else "1"} if field else {}
    currency = asked.currency.strip().upper()
    written |= {CURRENCY: currency} if currency and currency != loaded.policy.currency else {}
    effect = explain.build_supposed_effect(method, written)
    call = normalize(effect, catalogue=rules.catalogue, portal=rules.portal, actor=actor, effect_id="explain")
    verdict: Verdict
    if isinstance(call, Refuse):
        verdict = call
    else:
        facts = explain.build_supposed_facts(call, actor, rules.catalogue, before, currency=loaded.policy.currency)
        _, verdict = evaluate(
            call, mode=rules.mode, policy=loaded.policy, actor=actor, facts=facts, effect=explain.add_named_targets(effect, call)
        )
    found = explain.explain_verdict(verdict, method.name, loaded)
    return ExplainedCall(
        kind="supposed",
        method=method.name,
        person=_format_person(actor),
        mode=resolve_mode(rules.mode, actor),
        policy=loaded.policy.digest,
        verdict=found.verdict,
        taps=found.taps,
        reasons=found.lines,
    )


def explain_recorded(call: str, store: Store, rules: Rules, path: Path | None) -> list[ExplainedCall]:
    """Return the recorded calls whose ids begin with `call`, each with the verdict under `rules` and what happened at the time.

    The list is empty if there is no such call. Raises StoreError or UnknownEvent if the journal cannot be read.
    """
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
        reasons=tuple(explain.explain_reasons(step.reasons, step.now, step.step.method, loaded)),
    )


def _find_person(key: str, rules: Rules) -> Actor:
    if not key:
        return _ANYBODY
    actor = rules.person(key)
    if actor is None:
        raise SettingsError(f"--person: {key!r} is not in the access file; a key such as tg:1007 is needed")
    return actor


def _format_person(actor: Actor | None) -> str:
    if actor is None:
        return ""
    return f"{actor.name} ({actor.key}, {actor.role})" if actor.key else actor.name


def _parse_sum(option: str, written: str) -> Decimal | None:
    text = written.replace(" ", "").replace("_", "").replace(",", ".")
    if not text:
        return None
    try:
        found = Decimal(text)
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite():
        raise SettingsError(f"{option}: a sum such as 2500000 is needed, not {written!r}")
    return found
