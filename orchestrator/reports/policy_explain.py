"""Explains whether the gate would allow a call, and what a person may do. Sends nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final, Literal, assert_never

from bitrix.catalogue.catalogue import Catalogue, Method
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.address import KEY_EXAMPLES
from orchestrator.domain.effect import Effect, Provenance
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Allow, Ask, Call, Facts, PlanOnly, Refuse, Target, Verdict, Whole
from orchestrator.gate.call.held_parts import list_part_reads
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.gate.call.policy import LoadedPolicy, load_with_places
from orchestrator.gate.call.policy_format import Rule, build_suggestion, format_location
from orchestrator.gate.call.reasons import SENTENCES, format_english
from orchestrator.gate.decide.consent import BESIDE, QUESTIONS
from orchestrator.gate.decide.decide import evaluate
from orchestrator.gate.decide.part_owners import OF_PARTS
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.gate.normalize.sums import CURRENCY, SUM
from orchestrator.reports.rehearsal.recorded_plans import read_plans
from orchestrator.reports.rehearsal.rehearse import RehearsedPlan, RehearsedStep, Rules, evaluate_plans
from state.journal.store import Store
from state.stored import JsonObject

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "gate-policy-refuses": ("refuse_methods",),
    "gate-policy-method": ("ask_methods",),
    "gate-policy-person": ("ask_people",),
    "gate-policy-amount": ("ask_above",),
    "gate-four-eyes": ("four_eyes_above",),
    "gate-sum-jump": ("sum_jump",),
    "gate-sum-steps": ("sum_jump",),
    "gate-sum-lost": ("sum_jump",),
    "gate-sum-currency": ("sum_jump",),
    "gate-cap-batch": ("caps", "records_per_batch"),
    "gate-cap-day": ("caps", "writes_per_day"),
    "gate-kind": ("open_kinds",),
    "gate-http-host": ("http_hosts",),
    "gate-mongo-collection": ("mongo_collections",),
    "gate-delete": ("open_methods",),
    "gate-closed": ("open_methods",),
    "gate-handler": ("event_handler_hosts",),
}
"""The policy key that causes, or would remove, each reason."""
_BY_ROW: Final[Mapping[str, str]] = {
    "gate-critical": "critical",
    "gate-critical-action": "asks",
    "gate-class-delete": "classes",
    "gate-class-unlink": "classes",
    "gate-class-config": "classes",
    "gate-sum-by-rows": "classes",
    "gate-class-money": "classes",
    "gate-class-outward": "classes",
    "gate-http-outward": "classes",
    "gate-binding": "classes",
    "gate-needs-application": "app_only",
    "gate-needs-application-other": "app_only",
    "gate-param-unknown": "params",
    "gate-filter-field": "params",
    "gate-param-missing": "required",
}
"""The column of the catalogue that causes each reason."""
_RIGHTS: Final = frozenset(
    {"gate-not-author", "gate-not-yours", "gate-unscoped", "gate-no-user", "gate-filter-foreign", "gate-filter-unclear"}
)
_FREE: Final = "nothing asks about it; in a conversation only if the message orders it (docs/policy.md, What runs without a card)."
_NUMBER: Final = 1
_OWNER_TYPE: Final = "ownerType"
_KIND: Final = "D"


@dataclass(frozen=True, kw_only=True)
class ReasonLine:
    says: str
    code: str
    text: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Explanation:
    verdict: str
    taps: int
    lines: tuple[ReasonLine, ...]


def explain_verdict(verdict: Verdict, method: str, rules: LoadedPolicy) -> Explanation:
    match verdict:
        case Refuse():
            return Explanation(verdict="refused", taps=0, lines=tuple(explain_reasons([verdict.reason], "refused", method, rules)))
        case PlanOnly():
            return Explanation(
                verdict="planned", taps=0, lines=(_build_default_line("planned", "mode", "mode shadow records plans and runs nothing."),)
            )
        case Allow():
            return Explanation(verdict="run at once", taps=0, lines=(_build_default_line("run at once", "", _FREE),))
        case Ask():
            word = "asked of two people" if verdict.four_eyes else "asked of a lead" if verdict.lead else "asked"
            return Explanation(verdict=word, taps=verdict.taps, lines=tuple(explain_reasons(verdict.reasons, "asked", method, rules)))
        case _:
            assert_never(verdict)


def explain_reasons(reasons: Iterable[Notice], says: str, method: str, rules: LoadedPolicy) -> Iterator[ReasonLine]:
    """`says` is the consequence that the lines state, such as "asked"."""
    for notice in reasons:
        code = str(notice.args.get("reason") or notice.code)
        text = format_english(notice) if notice.code in SENTENCES else str(notice.args.get("recorded") or notice.code)
        owner_rules = list(_find_rules(notice, rules)) if code.startswith("gate-rule") else []
        for number, rule in owner_rules:
            yield ReasonLine(says=rule.then.replace("_", " "), code=code, text=text, source=_format_place(("rules", number), rules))
        if not owner_rules:
            yield ReasonLine(
                says=says, code=code, text=text, source=_find_source(code, notice, str(notice.args.get("method") or method), rules)
            )


def _find_rules(notice: Notice, rules: LoadedPolicy) -> Iterator[tuple[int, Rule]]:
    """(index, rule) with the notice's sentence `why`."""
    return ((number, rule) for number, rule in enumerate(rules.policy.rules) if rule.why == notice.args.get("why"))


def _find_source(code: str, notice: Notice, method: str, rules: LoadedPolicy) -> str:
    if code == "gate-critical" and fields.to_field_key(str(notice.args.get("field", ""))) in {
        fields.to_field_key(name) for name in rules.policy.critical_fields
    }:
        return _format_place(("critical_fields",), rules)
    if code in _KEYS:
        return _format_place(_KEYS[code], rules)
    if code in _BY_ROW:
        return f"catalogue: {method}: {_BY_ROW[code]}"
    if code in _RIGHTS:
        return "access file: sees"
    if code in QUESTIONS or code == BESIDE:
        return f"consent: {QUESTIONS.get(code, '6. as many as ordered')}"
    return "mode" if code == "gate-mode" else "built in"


def _format_place(place: tuple[str | int, ...], rules: LoadedPolicy) -> str:
    """Such as "policy.yaml:12: rules.0"; "built in: …" if no file sets it."""
    location = format_location(place, rules.places).removeprefix("POLICY_FILE ").replace(": line ", ":").replace("`", "")
    return location if ":" in location else f"built in: {location}"


def _build_default_line(says: str, code: str, text: str) -> ReasonLine:
    return ReasonLine(says=says, code=code, text=text, source="mode" if code == "mode" else "built in")


def build_supposed_effect(method: Method, new_values: JsonObject) -> Effect:
    """`method` writes `new_values` to record 1; with product rows a sum becomes a row's price."""
    params: dict[str, Any] = {}
    new_values = _as_rows(method, new_values)
    for path in dict.fromkeys((*method.required, *method.target[:1])):
        head, _, rest = path.partition(".")
        if rest:
            params.setdefault(head, {}).setdefault(rest, _KIND if rest == _OWNER_TYPE else _NUMBER)
        else:
            params.setdefault(head, {} if head == method.fields_at else _KIND if head == _OWNER_TYPE else _NUMBER)
    if not method.fields_at:
        params.update(new_values)
    elif new_values or method.verb in {"add", "update"}:
        params[method.fields_at] = {**params.get(method.fields_at, {}), **new_values} or {"TITLE": "…"}
    return Effect(method=method.name, params=params)


def _as_rows(method: Method, new_values: JsonObject) -> JsonObject:
    sums = {name: value for name, value in new_values.items() if fields.to_field_key(name) == fields.to_field_key(SUM)}
    if ".productrow" not in method.name or not sums:
        return dict(new_values)
    row = {"price": next(iter(sums.values()))}
    other_values = {name: value for name, value in new_values.items() if name not in sums}
    rows = next((name for name in method.required if fields.to_field_key(name) in {"rows", "productrows"}), "")
    return {**other_values, rows: [row]} if rows else {**other_values, **row}


def add_named_targets(effect: Effect, call: Call) -> Effect:
    """As if the person had named all records and no foreign text were read."""
    targets = frozenset(f"{entity}:{number}" for leaf in call.leaves for entity, number in leaf.targets)
    return effect.model_copy(update={"provenance": Provenance(message=None, targets=targets)})


def build_supposed_facts(call: Call, actor: Actor, catalogue: Catalogue, before: Decimal | None, *, currency: str = "") -> Facts:
    """Records belong to the person; only their sum `before` is known."""
    sums = {SUM: str(before)} if before is not None else {}
    sums |= {CURRENCY: currency} if currency else {}
    records: dict[Target, JsonObject | None] = {}
    for leaf in call.leaves:
        for target in (*leaf.targets, *leaf.ties):
            entity = catalogue.entities.get(target[0])
            owner = {entity.owner_field: str(actor.bitrix_user_id or _NUMBER)} if entity is not None else {}
            records[target] = {**owner, **sums}
    wholes = {part: Whole(target=part, is_visible=True) for leaf in call.leaves if leaf.spec.owner in OF_PARTS for part in leaf.targets}
    event = {"CAL_TYPE": "user", "OWNER_ID": str(actor.bitrix_user_id or _NUMBER)}
    parts = {read.part: event for leaf in call.leaves if leaf.spec.owner == "event" for read in list_part_reads(leaf)}
    return Facts(records=records, parts=parts, wholes=wholes, own_parts=frozenset(wholes))


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
    reasons: Sequence[ReasonLine]


def explain_hypothetical(hypothetical_call: HypotheticalCall, rules: Rules, path: Path | None) -> ExplainedCall:
    """As if the record belonged to the person. Raises SettingsError for invalid options."""
    loaded = load_with_places(path)
    method = _find_method(hypothetical_call.method, rules)
    actor = _find_person(hypothetical_call.person, rules)
    explanation = explain_verdict(_decide(hypothetical_call, method, actor, replace(rules, policy=loaded.policy)), method.name, loaded)
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
    effect = build_supposed_effect(method, new_values)
    call = normalize(effect, catalogue=rules.catalogue, portal=rules.portal, actor=actor, effect_id="explain")
    if isinstance(call, Refuse):
        return call
    facts = build_supposed_facts(call, actor, rules.catalogue, before, currency=policy.currency)
    named_effect = add_named_targets(effect, call)
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
        reasons=tuple(explain_reasons(step.reasons, step.now, step.step.method, loaded)),
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
