"""Evaluates recorded plans under other rules, with the gate's own functions. Sends and writes nothing.

What the journal lacks is assumed; verdicts that depend on it are marked.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal, assert_never

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Effect, MessageFacts, Provenance
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.duplicates import add_doubts, find_open_card
from orchestrator.gate.approve.run_approved import refuse_unchanged
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Allow, Ask, Call, Facts, PlanOnly, Refuse, Target, Verdict, Whole
from orchestrator.gate.call.permissions import find_needed_records, find_visible_users
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.reasons import SENTENCES, format_english
from orchestrator.gate.call.serialization import build_effect_id, get_essence
from orchestrator.gate.decide import decide
from orchestrator.gate.decide.consent import BESIDE, CONSENT_REASONS
from orchestrator.gate.decide.decide import evaluate
from orchestrator.gate.decide.part_owners import OF_PARTS
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.reports.rehearsal.recorded_plans import RecordedPlan, RecordedStep
from state.canonical import dumps
from state.stored import JsonObject

RehearsedVerdict = Literal["allowed", "asked", "refused", "planned", "not begun", "not judged"]

NOT_RECORDED = "not-recorded"
NO_PERSON = "no-person"
CARD_WAITS = "card-waits-already"
_OWN_SENTENCES = {
    NOT_RECORDED: "values that decide about it were not recorded, so it is counted as asked.",
    NO_PERSON: "the person has no access today, so nothing can be said.",
    CARD_WAITS: "a card for this very call was waiting already.",
    "same-call-unknown": "the same call may have happened already: its outcome was not known.",
    "after-unknown": "a call before it in this turn may or may not have happened.",
    "same-wish-waits": "somebody else's card waits for the same.",
}
_PORTAL_REFUSALS = frozenset(
    {
        "gate-not-author",
        "gate-not-found",
        "gate-not-yours",
        "gate-unread",
        "gate-user-inactive",
        "gate-already-so",
        "gate-param-unknown",
        "gate-filter-field",
        "gate-param-reserved",
        "gate-param-missing",
        "gate-param-invalid",
        "gate-move-funnel",
        "gate-value-year",
        "gate-value-stage",
        "gate-value-choice",
    }
)
"""Caused by the portal's data, so the same under every policy and mode."""
_VALUE_REASONS = frozenset({"gate-critical", "gate-add-stage", "gate-replaces"})
_PROVENANCE_REASONS = CONSENT_REASONS | {BESIDE}


@dataclass(frozen=True, kw_only=True)
class Rules:
    """`person` returns present rights by key, None: no access."""

    catalogue: Catalogue
    policy: Policy
    mode: Mode
    person: Callable[[str], Actor | None]
    portal: str = ""
    """As in calls, to recognise earlier denials and waiting cards."""
    by_webhook: bool = True


@dataclass(frozen=True, kw_only=True)
class RehearsedStep:
    """`step.fate` was then, `now` is the new verdict.

    `missing_facts` it depends on: "records", "values", "taint" or "".
    """

    step: RecordedStep
    now: RehearsedVerdict
    reasons: tuple[Notice, ...] = ()
    missing_facts: str = ""
    reads_only: bool = False
    taps: int = 0


@dataclass(frozen=True, kw_only=True)
class RehearsedPlan:
    plan: RecordedPlan
    actor: Actor | None
    steps: tuple[RehearsedStep, ...]


@dataclass(frozen=True, kw_only=True)
class _Case:
    """A step with what the gate needs for it."""

    plan: RecordedPlan
    step: RecordedStep
    actor: Actor
    rules: Rules
    call: Call
    effect: Effect
    taint_known: bool
    reads: bool
    """Earlier steps of the plan ran reads."""
    unread: frozenset[Target] = field(default_factory=frozenset)
    """The verdict depends on them, but the journal lacks their values."""
    was_visible: bool = False
    """The gate did not refuse it for its records, so the person could see them."""


def evaluate_plans(plans: Iterable[RecordedPlan], rules: Rules) -> Iterator[RehearsedPlan]:
    """No plan of the journal raises an error."""
    for plan in plans:
        actor = rules.person(plan.person)
        steps = tuple(_evaluate_steps(plan, actor, rules))
        if beside := _find_beside(plan, steps, rules.catalogue):
            steps = tuple(_evaluate_steps(replace(plan, message=beside), actor, rules))
        yield RehearsedPlan(plan=plan, actor=actor, steps=steps)


def _find_beside(plan: RecordedPlan, steps: Sequence[RehearsedStep], catalogue: Catalogue) -> MessageFacts | None:
    """The message's facts if all changes go on the card because one needs consent; else None."""
    message, changes = plan.message, _count_changes(plan, catalogue)
    if message is None or changes <= 1 or not message.is_plain or message.changes + changes > message.orders:
        return None
    asks = any(find_reason_code(reason) in CONSENT_REASONS for step in steps for reason in step.reasons)
    return message.model_copy(update={"asks_beside": True}) if asks else None


def _count_changes(plan: RecordedPlan, catalogue: Catalogue) -> int:
    return sum(1 for one in plan.steps if (spec := catalogue.find(one.method)) is None or not spec.reads_only)


def format_reason(notice: Notice) -> str:
    """In English, for operators."""
    if notice.args.keys() == {"recorded"}:
        return str(notice.args["recorded"])
    if notice.code in SENTENCES:
        return format_english(notice)
    return _OWN_SENTENCES.get(notice.code, notice.code)


def find_reason_code(notice: Notice) -> str:
    """Of a batch, that of the command in question."""
    return str(notice.args.get("reason") or notice.code)


def _evaluate_steps(plan: RecordedPlan, actor: Actor | None, rules: Rules) -> Iterator[RehearsedStep]:
    halted = reads = False
    for step in plan.steps:
        if actor is None:
            yield RehearsedStep(step=step, now="not judged", reasons=(Notice(code=NO_PERSON),))
            continue
        if halted:
            yield RehearsedStep(step=step, now="not begun")
            continue
        rehearsed_step = _evaluate_step(plan, step, actor, rules, reads=reads)
        halted = rules.policy.halt_on_block and rehearsed_step.now in {"asked", "refused"}
        reads = reads or (rehearsed_step.now == "allowed" and rehearsed_step.reads_only)
        yield rehearsed_step


def _evaluate_step(plan: RecordedPlan, step: RecordedStep, actor: Actor, rules: Rules, *, reads: bool) -> RehearsedStep:
    if step.name_problem:
        return RehearsedStep(step=step, now="refused", reasons=(Notice(code=step.name_problem, args={"recorded": step.detail}),))
    ran_free = step.fate == "ran"  # under the rules of that time a tainted write would have asked
    known = step.provenance is not None or ran_free or not (reads or plan.read_before)
    effect = Effect(
        method=step.method,
        params=step.params,
        comment=step.comment,
        provenance=_build_provenance(plan, step, rules.catalogue),
        requires_confirmation=step.requires_confirmation,
        confirmation_decision=step.confirmation_decision,
        slot=step.slot,
    )
    call = normalize(effect, catalogue=rules.catalogue, portal=rules.portal, actor=actor, effect_id=build_effect_id(step.slot))
    if isinstance(call, Refuse):
        return RehearsedStep(step=step, now="refused", reasons=(call.reason,))
    if step.confirmation_decision != "deny" and find_open_card(plan.state, get_essence(call), actor) is not None:
        return RehearsedStep(step=step, now="asked", reasons=(Notice(code=CARD_WAITS),))
    case = _Case(
        plan=plan,
        step=step,
        actor=actor,
        rules=rules,
        call=call,
        effect=effect,
        taint_known=known,
        reads=reads,
        unread=frozenset(target for target in find_needed_records(call, actor) if _format_target(target) not in (step.before or {})),
        was_visible=_was_visible(step, call),
    )
    return _build_rehearsed(case, _evaluate_case(case, _build_facts(case), effect))


def _build_provenance(plan: RecordedPlan, step: RecordedStep, catalogue: Catalogue) -> Provenance:
    """As stored with the card, else computed from the plan."""
    if step.provenance is not None:
        return step.provenance
    changes = _count_changes(plan, catalogue)
    message = plan.message and plan.message.model_copy(update={"changes": plan.message.changes + changes})
    return Provenance(message=message, prose=plan.prose, targets=plan.targets, external=plan.labels, person_text=plan.text)


def _was_visible(step: RecordedStep, call: Call) -> bool:
    if step.fate == "planned":  # shadow mode looks up only what a write is about
        return not call.reads_only
    return step.fate in {"ran", "asked"} or (step.fate == "refused" and step.fate_note in {"gate-already-so", "gate-denied-now"})


def _build_facts(case: _Case) -> Facts:
    """Unknown records are assumed to exist and to belong to the person."""
    call, before = case.call, case.step.before or {}
    records: dict[Target, JsonObject | None] = {}
    for leaf in call.leaves:
        for target in (*leaf.targets, *leaf.ties):
            records[target] = (
                before[_format_target(target)] if _format_target(target) in before else _build_own_record(leaf, target, case.actor)
            )
    denied = case.plan.state.denied.get(get_essence(call))
    wholes = {part: Whole(target=part, is_visible=True) for leaf in call.leaves if leaf.spec.owner in OF_PARTS for part in leaf.targets}
    return Facts(
        records=records,
        wholes=wholes,
        own_parts=frozenset(wholes),
        by_webhook=case.rules.by_webhook and call.kind == "bitrix",
        denied_at=denied.at if denied else "",
        denied_by=denied.by if denied else "",
        denied_in_turn=not {get_essence(one) for one in (call, *call.leaves)}.isdisjoint(case.plan.denied),
    )


def _build_own_record(call: Call, target: Target, actor: Actor) -> JsonObject:
    """None in the owners makes every owner that a call sets a change."""
    entity = call.entities.get(target[0])
    users = find_visible_users(actor) or frozenset({actor.bitrix_user_id or 0})
    return {entity.owner_field: [*sorted(users), None]} if entity is not None and entity.owner_field else {}


def _evaluate_case(case: _Case, facts: Facts, effect: Effect) -> Verdict:
    """As in `Gate.submit`, without checks against unknown values."""
    rules, call = case.rules, case.call
    if case.unread:
        verdict = decide.decide(call, mode=rules.mode, policy=rules.policy, actor=case.actor, facts=facts, effect=effect)
        return add_doubts(verdict, call, case.plan.state, case.actor)
    call, verdict = evaluate(call, mode=rules.mode, policy=rules.policy, actor=case.actor, facts=facts, effect=effect)
    return refuse_unchanged(add_doubts(verdict, call, case.plan.state, case.actor), call, facts)


def _build_rehearsed(case: _Case, verdict: Verdict) -> RehearsedStep:
    step = case.step
    if (
        not isinstance(verdict, Refuse)
        and step.fate == "refused"
        and step.fate_note != "gate-batch-refused"
        # caused by the portal's data or answer, and so it would occur under any rules
        and (step.fate_note in _PORTAL_REFUSALS or not step.fate_note.startswith("gate-"))
    ):
        return RehearsedStep(step=step, now="refused", reasons=(Notice(code=step.fate_note, args={"recorded": step.detail}),))
    match verdict:
        case Refuse():
            return RehearsedStep(step=step, now="refused", reasons=(verdict.reason,))
        case PlanOnly():
            return RehearsedStep(step=step, now="planned")
        case Ask():
            return RehearsedStep(
                step=step, now="asked", reasons=verdict.reasons, missing_facts=_find_missing_facts(case, verdict), taps=verdict.taps
            )
        case Allow():
            return _check_allowed(case)
        case _:
            assert_never(verdict)


def _find_missing_facts(case: _Case, verdict: Ask) -> str:
    codes = {find_reason_code(reason) for reason in verdict.reasons} - {BESIDE}
    if case.unread and not case.was_visible:
        return "records"
    if codes <= _VALUE_REASONS | _PROVENANCE_REASONS and _is_open_to_values(case, codes):
        return "values"
    return "taint" if codes <= _PROVENANCE_REASONS and not case.taint_known else ""


def _is_open_to_values(case: _Case, codes: set[str]) -> bool:
    """Every reason may come from what was not recorded, at least one from values."""
    by_value = (bool(codes & {"gate-critical", "gate-replaces"}) and bool(case.unread)) or "gate-add-stage" in codes
    return by_value and (codes <= _VALUE_REASONS or not case.taint_known)


def _check_allowed(case: _Case) -> RehearsedStep:
    """Unknown reads stay allowed, marked; unknown writes count as asked.

    Others are judged again with the worst values of unrecorded facts.
    """
    known = not case.unread or case.was_visible
    if case.call.reads_only:
        return RehearsedStep(step=case.step, now="allowed", missing_facts="" if known else "records", reads_only=True)
    if not known or case.step.fate_note == "gate-batch-refused":
        return RehearsedStep(step=case.step, now="asked", reasons=(Notice(code=NOT_RECORDED),), missing_facts="records")
    worst = _evaluate_case(case, _build_worst_facts(case), _build_worst_effect(case))
    if isinstance(worst, Ask):
        kind = "taint" if isinstance(_evaluate_case(case, _build_worst_facts(case), case.effect), Allow) else "values"
        return RehearsedStep(step=case.step, now="asked", reasons=(Notice(code=NOT_RECORDED),), missing_facts=kind)
    return RehearsedStep(step=case.step, now="allowed")


def _build_worst_facts(case: _Case) -> Facts:
    """Sums that are not recorded are above every limit."""
    policy = case.rules.policy
    limits = (policy.ask_above, policy.four_eyes_above, *(rule.above for rule in policy.rules))
    above = max((limit for limit in limits if limit is not None), default=Decimal(0)) + 1
    facts = _build_facts(case)
    records = {
        target: record if record is None or fields.has_field(record, "OPPORTUNITY", target[0]) else {**record, "OPPORTUNITY": str(above)}
        for target, record in facts.records.items()
    }
    return Facts(records=records, wholes=facts.wholes, by_webhook=facts.by_webhook, denied_at=facts.denied_at, denied_by=facts.denied_by)


def _build_worst_effect(case: _Case) -> Effect:
    """As if strangers had written all values, unless the taint is recorded."""
    if case.taint_known:
        return case.effect
    provenance = case.effect.provenance
    worst = {"prose": provenance.prose or case.reads, "external": (dumps(dict(case.call.params)),), "person_text": ""}
    return case.effect.model_copy(update={"provenance": provenance.model_copy(update=worst)})


def _format_target(target: Target) -> str:
    return f"{target[0]}:{target[1]}"
