"""The gate: every effect of every engine, and every decision of a person about a card, enters here.

submit: normalize → fetch facts → decide (pure) → refuse, plan, ask or run. decide_card: a person's decision → run the call once.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar, assert_never

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor, Mode, is_same_person
from orchestrator.domain.bulk import BULK
from orchestrator.domain.card_view import Preview
from orchestrator.domain.effect import Effect, FollowingStep, NewRecord, Outcome, Pending
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve import confirmations, run_approved
from orchestrator.gate.approve.collect_facts import complete_facts
from orchestrator.gate.approve.confirmations import CardRequest, Decision
from orchestrator.gate.approve.covered_steps import ProposedStep, find_covering_card, list_covered
from orchestrator.gate.approve.duplicates import (
    REPEATED,
    add_doubts,
    build_pending,
    build_repeat_verdict,
    find_open_card,
    restore_outcome,
)
from orchestrator.gate.approve.missed_steps import add_missed_step
from orchestrator.gate.approve.planned_steps import add_planned_rows
from orchestrator.gate.approve.refused_steps import build_held, build_refusal_event, build_refused
from orchestrator.gate.approve.restored_calls import doubt_restored_call
from orchestrator.gate.approve.run_approved import OUTDATED, DecisionResult, refuse_unchanged
from orchestrator.gate.bulk.freeze import freeze
from orchestrator.gate.bulk.parts import check_part, hold_records
from orchestrator.gate.call.before_image import build_before_image
from orchestrator.gate.call.effect import Allow, Ask, Call, Facts, PlanOnly, Refuse, Target, Verdict
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.reasons import build_read_refusal, refuse
from orchestrator.gate.call.row_writes import Records, writes_rows
from orchestrator.gate.call.serialization import build_effect_id, get_essence
from orchestrator.gate.decide import refusals
from orchestrator.gate.decide.consent import CONSENT_REASONS
from orchestrator.gate.decide.decide import evaluate
from orchestrator.gate.decide.fetch_facts import fetch_facts, find_named_people
from orchestrator.gate.decide.following_checks import find_refusal
from orchestrator.gate.execute import executor
from orchestrator.gate.execute.executor import Closing, Order
from orchestrator.gate.execute.limited import run_uncounted, run_within_cap
from orchestrator.gate.execute.recovery import Announce, RecoveredEffect, reconcile, recover_started
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.gate.preview.call_labels import ProposalLabel, build_call_label, build_offline_label, describe_proposal
from orchestrator.gate.preview.compare_words import add_comparisons
from orchestrator.gate.preview.following_steps import draw_following
from orchestrator.gate.preview.preview import find_verb, preview_for
from orchestrator.gate.preview.proposed_step import draw_proposed
from orchestrator.gate.preview.reason_names import name_reasons
from orchestrator.gate.preview.told_values import mark_told
from state.journal.store import EffectConflict, EffectRow, OutboxRow, WriteStopped
from state.model.card import NO_CARD, Card
from state.stored import JsonObject

_Result = TypeVar("_Result", Outcome, Pending)
_DECIDED: Final = Refuse(reason=Notice(code="card-not-waiting"), detail="it does not wait any more; what became of it stands")


@dataclass(frozen=True, kw_only=True)
class _Case:
    effect: Effect
    turn_id: str
    actor: Actor
    mode: Mode
    ledger: Ledger
    denied: Collection[str] = ()

    @property
    def effect_id(self) -> str:
        return build_effect_id(self.effect.slot)

    @property
    def named_card(self) -> Card:
        """The one that the effect withdraws."""
        return self.ledger.state.cards.get(self.effect.withdraws, NO_CARD)

    def may_withdraw(self, card: Card) -> bool:
        """Also once more, after a crash."""
        return card.requested_by == self.actor.key and (card.is_waiting or _is_withdrawn(card))


class Gate:
    """Decides on effects and applies people's decisions; all state is in the session's journal (`ledger`)."""

    def __init__(self, deps: GateDeps) -> None:
        self._deps = deps

    @property
    def halt_on_block(self) -> bool:
        """A plan stops at its first step that waits for a decision or is refused."""
        return self._deps.policy.halt_on_block

    @property
    def policy(self) -> Policy:
        return self._deps.policy

    @property
    def deps(self) -> GateDeps:
        """For features built on the gate."""
        return self._deps

    def describe_method(self, method: str) -> dict[str, str]:
        """{"verb": …, "entity": …} for the progress of a turn; {} for an unknown method."""
        spec = self._deps.catalogue.find(method)
        return {"verb": find_verb(spec), "entity": spec.entity} if spec else {}

    async def describe_effect(self, effect: Effect, actor: Actor) -> ProposalLabel | None:
        """None if it changes nothing."""
        return await describe_proposal(effect, deps=self._deps, portal=self._find_portal(effect.kind), actor=actor)

    async def submit(
        self,
        effect: Effect,
        *,
        actor: Actor,
        mode: Mode,
        turn_id: str,
        ledger: Ledger,
        earlier: Sequence[str] = (),
        denied: Collection[str] = (),
    ) -> Outcome | Pending:
        """Refuses the effect, plans it, shows a card or runs it; one with the same slot never runs twice.

        `earlier` are the turn's effect ids, oldest first: their changes are not made again. Calls whose essence is in `denied` are
        refused. Raises StoreUnwritable when the intent cannot be stored; then nothing was sent.
        """
        case = _Case(effect=effect, turn_id=turn_id, actor=actor, mode=mode, ledger=ledger, denied=denied)
        known = await ledger.find_effect(case.effect_id)
        if known is not None:
            return restore_outcome(known)
        withdraws = effect.confirmation_decision == "deny"
        if effect.withdraws and (withdraws or not case.may_withdraw(case.named_card)):
            return await self._withdraw(case, case.named_card)
        call = self._normalize(effect, actor)
        if isinstance(call, Refuse):
            return await self._refuse(case, call)
        if withdraws:
            return await self._deny_by_model(case, call)
        if call.kind == BULK:
            missing = self._deps.find_missing_performer(call)
            call = missing or await freeze(call, effect, actor=actor, deps=self._deps, ledger=ledger)
            if isinstance(call, Refuse):
                return await self._refuse(case, call)
        try:
            async with hold_records(call, effect, deps=self._deps, ledger=ledger):
                return await self._submit_call(case, call, earlier)
        except EffectConflict:
            if not effect.withdraws or case.may_withdraw(case.named_card):
                raise
            return await self._refuse(case, _DECIDED)

    async def _submit_call(self, case: _Case, call: Call, earlier: Sequence[str]) -> Outcome | Pending:
        effect, actor, ledger = case.effect, case.actor, case.ledger
        entry = find_open_card(ledger.state, get_essence(call), actor) if not effect.is_trial else None
        if entry is not None:
            return await self._join(case, call, entry)
        repeat = await self._find_repeat(case, call, earlier)
        if repeat is not None:
            return repeat if repeat.status == "refused" else await self._end_named_card(case, repeat)
        try:
            facts = await self._collect_facts(case, call)
            before = await self._load_planned(case) if any(writes_rows(leaf) for leaf in call.leaves) else []
            place = effect.in_place_of or effect.slot
            facts = await add_planned_rows(call, facts, place, by=actor.key, deps=self._deps, ledger=ledger, planned=before)
        except BitrixError as error:
            return await self._refuse(case, build_read_refusal(error))
        proposed = call
        call, verdict = evaluate(call, mode=case.mode, policy=self._deps.policy, actor=actor, facts=facts, effect=effect)
        if not isinstance(verdict, Refuse) and (missing := self._deps.find_missing_performer(call)) is not None:
            return await self._refuse(case, missing)
        verdict = refuse_unchanged(add_doubts(verdict, call, ledger.state, actor), call, facts)
        if effect.came_back:
            verdict = await doubt_restored_call(verdict, call, self._deps, is_computed=effect.is_computed)
        verdict = await self._check_frozen(call, verdict)
        if effect.part_of:
            return await self._run_part(case, proposed, call, facts, verdict)
        return await self._carry_out(case, call, facts, verdict if isinstance(verdict, Refuse) or not effect.is_trial else PlanOnly())

    async def _run_part(self, case: _Case, proposed: Call, call: Call, facts: Facts, verdict: Verdict) -> Outcome:
        """A part of an approved file: as it stands there, or, with the records that it may not change any more named, not at all."""
        part = await check_part(proposed, case.effect, facts, actor=case.actor, mode=case.mode, deps=self._deps, ledger=case.ledger)
        if isinstance(part, Refuse):
            return await self._refuse(case, part)
        if part.left:
            refused = await self._refuse(case, refuse("gate-bulk-part"))
            return refused.model_copy(update={"commands": part.left})
        if isinstance(verdict, Refuse):  # about the batch and not about one of its records, such as a freeze
            return await self._refuse(case, verdict)
        keys = [leaf.key for leaf in call.leaves]
        await self._deps.sent.mark(case.ledger, keys)
        outcome = await self._run(case, call, facts, approved=(part.card, part.approved_by))
        await self._deps.sent.settle(case.ledger, keys, outcome)
        return outcome

    def count_changes(self, effect: Effect, *, actor: Actor) -> int:
        """Writing commands of a batch, 1 for another change, otherwise 0."""
        if effect.confirmation_decision == "deny":
            return 0
        call = self._normalize(effect, actor)
        if isinstance(call, Refuse):
            spec = self._deps.catalogue.find(effect.method)
            return 0 if spec is not None and spec.reads_only else 1
        return sum(not leaf.reads_only for leaf in call.leaves)

    async def find_refusal(
        self, effect: Effect, records: Sequence[NewRecord], *, actor: Actor, mode: Mode, ledger: Ledger
    ) -> Outcome | None:
        """Why the effect would be refused once the records it waits for are there, as far as it can be known. Nothing is stored."""
        refusal = await find_refusal(effect, records, actor=actor, mode=mode, deps=self._deps, now=ledger.now)
        return build_refused(effect, build_effect_id(effect.slot), refusal) if refusal is not None else None

    async def needs_consent(
        self,
        effect: Effect,
        *,
        actor: Actor,
        mode: Mode,
        turn_id: str,
        ledger: Ledger,
        made: Collection[Target] = (),
        denied: Collection[str] = (),
    ) -> bool:
        """Whether `submit` would ask because the person has not clearly ordered it. Nothing is stored.

        `made`: steps of the plan make these records, for whose numbers stand-ins stand.
        """
        case = _Case(effect=effect, turn_id=turn_id, actor=actor, mode=mode, ledger=ledger, denied=denied)
        call = self._normalize(effect, actor)
        if isinstance(call, Refuse) or call.reads_only or await ledger.find_effect(case.effect_id) is not None:
            return False
        try:
            facts = Facts(records={target: {} for target in made}) if made else await self._collect_facts(case, call)
            actor = actor.model_copy(update={"sees": "all"}) if made else actor  # who makes a record may see it
        except BitrixError:  # the step will be refused
            return False
        unseen = effect.model_copy(update={"provenance": effect.provenance.model_copy(update={"shown": frozenset()})})
        _, verdict = evaluate(call, mode=mode, policy=self._deps.policy, actor=actor, facts=facts, effect=unseen)
        return isinstance(verdict, Ask) and any(reason.args.get("reason", reason.code) in CONSENT_REASONS for reason in verdict.reasons)

    def _normalize(self, effect: Effect, actor: Actor) -> Call | Refuse:
        portal, effect_id = self._find_portal(effect.kind), build_effect_id(effect.slot)
        return normalize(effect, catalogue=self._deps.catalogue, portal=portal, actor=actor, effect_id=effect_id)

    async def _find_repeat(self, case: _Case, call: Call, earlier: Sequence[str]) -> Outcome | None:
        if call.reads_only or not earlier:
            return None
        rows = [row for one in earlier if (row := await case.ledger.find_effect(one)) is not None]
        repeat_verdict = build_repeat_verdict(call, rows, self._deps.catalogue, case.effect_id)
        if repeat_verdict is None:
            return None
        if isinstance(repeat_verdict, Refuse):
            return await self._refuse(case, repeat_verdict)
        await self._record_refusal(case, Refuse(reason=Notice(code=REPEATED), detail=repeat_verdict.detail))
        return repeat_verdict

    async def _check_frozen(self, call: Call, verdict: Verdict) -> Verdict:
        if not isinstance(verdict, Allow | Ask) or refusals.may_run_while_frozen(call):
            return verdict
        standing = await self._deps.switch.find_freeze()
        return verdict if standing is None else refusals.build_freeze_refusal(standing, call)

    async def _carry_out(self, case: _Case, call: Call, facts: Facts, verdict: Verdict) -> Outcome | Pending:
        match verdict:
            case Refuse():
                return await self._refuse(case, verdict)
            case PlanOnly():
                following = await self._draw_following(case, call)
                return Outcome(
                    status="planned",
                    effect_id=case.effect_id,
                    method=call.method,
                    call_class="".join(call.classes),
                    detail="shadow mode: recorded as a plan, not run",
                    call=dict(call.params),
                    preview=(await preview_for(case.actor, call, facts, self._deps.names, now=case.ledger.now)).to_json(),
                    following=tuple(preview.to_json() for _, preview in following),
                )
            case Ask() | Allow() if case.effect.is_held:
                return await self._refuse(case, build_held(call))
            case Ask():
                covering = await self._find_covering_card(case, call, facts, verdict)
                if covering is None:
                    return await self._ask(case, call, facts, verdict)
                return await self._run(case, call, facts, approved=(covering.confirmation_id, covering.approved_by))
            case Allow():
                return await self._run(case, call, facts)
            case _:
                assert_never(verdict)

    async def decide_card(self, decision: Decision, *, mode: Mode, ledger: Ledger, announce: Sequence[OutboxRow] = ()) -> DecisionResult:
        """An approval runs the exact call of the card at most once.

        `announce` is stored with the decision. The result is buffered; the caller commits it with the message to the person.
        """
        entry = ledger.state.cards.get(decision.confirmation_id)
        if entry is None:
            return DecisionResult(notice=confirmations.find_objection(None, decision, ledger))
        own = is_same_person(decision.actor, entry.requested_by, entry.requested_by_user)
        if not own:  # nobody stands in for a lead in what is their own, under no account
            decision = replace(decision, actor=self._deps.approvers.apply_delegation(decision.actor))
        notice = confirmations.find_objection(entry, decision, ledger) or confirmations.check_entitlement(
            entry, decision, self._deps.catalogue
        )
        if decision.approve and (notice is None or notice.code == "card-second-tap"):
            notice = await run_approved.find_freeze_notice(entry, self._deps, ledger) or notice
        if notice is not None:
            return DecisionResult(notice=notice)
        try:
            if not decision.approve:
                await confirmations.deny(entry, decision, ledger, announce)
                return DecisionResult(notice=Notice(code="card-denied", args={"who": decision.actor.name}))
            await confirmations.approve(entry, decision, ledger, announce)
        except EffectConflict:
            return DecisionResult(notice=OUTDATED)
        return await self.run_approved(entry.effect_id, mode=resolve_mode(mode, decision.actor), ledger=ledger)

    async def run_approved(self, effect_id: str, *, mode: Mode, ledger: Ledger) -> DecisionResult:
        """Runs an approved call once, unless records, mode or policy changed since the card was shown."""
        return await run_approved.run_approved(effect_id, self._deps, mode=mode, ledger=ledger)

    async def resume_approved(self, effect_id: str, *, mode: Mode, ledger: Ledger) -> DecisionResult:
        """As `run_approved`, after a crash; refused if the approver has no access any more."""
        return await run_approved.resume_approved(effect_id, self._deps, mode=mode, ledger=ledger)

    async def recover(self, ledger: Ledger, *, announce: Announce) -> list[RecoveredEffect]:
        """Marks calls that a dead process left as `unknown`, and looks them up in the portal. Sends no write."""
        return await recover_started(ledger, self._deps.catalogue, self._deps.performers, announce)

    async def reconcile(self, row: EffectRow, ledger: Ledger, *, announce: Announce) -> RecoveredEffect:
        """Stores whether one call of unknown outcome happened. Never sends a write."""
        return await reconcile(row, ledger, self._deps.catalogue, self._deps.performers, announce)

    async def _find_covering_card(self, case: _Case, call: Call, facts: Facts, verdict: Ask) -> Card | None:
        step = ProposedStep(
            effect=case.effect,
            effect_id=case.effect_id,
            turn_id=case.turn_id,
            call=call,
            facts=facts,
            actor=case.actor,
            mode=case.mode,
        )
        return await find_covering_card(step, verdict, self._deps, case.ledger)

    async def _run(self, case: _Case, call: Call, facts: Facts, *, approved: tuple[str, str] = ("", "")) -> Outcome:
        """`approved` is the card whose approval covers the call, and who gave it, if that is why it needs none of its own."""
        if call.reads_only:
            return await executor.run_read(self._build_order(case, call, facts, {}), self._deps.performers[call.kind], case.ledger)
        bare_order = self._build_order(case, call, facts, await build_offline_label(call, facts, case.actor))
        card, approved_by = approved
        order = replace(bare_order, approved_by=approved_by, covered_by=card, closings=self._build_closings(case))
        try:
            run = run_uncounted if case.effect.part_of else run_within_cap
            done = await run(executor.run_write, order, self._deps, case.actor, case.ledger)
        except WriteStopped:  # frozen just now: nothing was stored and nothing was sent
            done = refusals.build_freeze_refusal(await self._deps.switch.fetch_freeze(), call)
        return await self._refuse(case, done) if isinstance(done, Refuse) else done

    async def _draw_following(self, case: _Case, call: Call) -> list[tuple[FollowingStep, Preview]]:
        following = await draw_following(case.effect.following, call, case.actor, self._deps, case.ledger)
        return [*following, *await draw_proposed(call, case.actor, self._deps, case.ledger)]

    async def _ask(self, case: _Case, call: Call, facts: Facts, verdict: Ask) -> Pending:
        preview = await preview_for(case.actor, call, facts, self._deps.names, now=case.ledger.now)
        preview = preview if case.mode == "full" else preview.model_copy(update={"mode": case.mode})
        reasons = await name_reasons(verdict.reasons, self._deps.names, case.actor.locale)
        person_text = case.effect.provenance.person_text
        reasons = mark_told(reasons, call, preview, facts, case.effect.provenance, case.actor.locale)
        verdict = replace(verdict, reasons=tuple(await add_comparisons(reasons, call, facts, person_text, self._deps.records.reference)))
        order = self._build_order(case, call, facts, build_call_label(call, preview))
        verdict = await add_missed_step(verdict, call, case.effect.missed, case.actor, self._deps)
        verdict = replace(verdict, reasons=(*case.effect.notes, *verdict.reasons))
        entry = find_open_card(case.ledger.state, get_essence(call), case.actor)
        if entry is not None:  # created by the other lane while this one read the portal
            return await self._join(case, call, entry)
        following = await self._draw_following(case, call)
        card_request = CardRequest(
            order=order,
            effect=case.effect,
            ask=verdict,
            preview=preview,
            actor=case.actor,
            notified_leads=confirmations.find_notified_leads(order, verdict, case.actor, self._deps),
            following=[preview.to_json() for _, preview in following],
            covers=list_covered(preview, following),
        )
        remind_after, closings = self._deps.policy.remind_lead_after, self._build_closings(case)
        event = await confirmations.request(card_request, case.ledger, self._deps.ttl, remind_after=remind_after, supersede=closings)
        return Pending(
            effect_id=case.effect_id,
            confirmation_id=event.confirmation_id,
            method=call.method,
            reasons=verdict.reasons,
            notice=confirmations.build_no_lead_notice(card_request.notified_leads, verdict, case.actor),
        )

    async def _record_refusal(self, case: _Case, verdict: Refuse) -> None:
        event = build_refusal_event(case.effect, case.turn_id, verdict)
        await case.ledger.buffer(event, actor=case.actor.key)

    async def _refuse(self, case: _Case, verdict: Refuse) -> Outcome:
        await self._record_refusal(case, verdict)
        return build_refused(case.effect, case.effect_id, verdict)

    async def _deny_by_model(self, case: _Case, call: Call) -> Outcome:
        """The model may withdraw its own step, but never approve one (S004-12, A1, A10)."""
        entry = find_open_card(case.ledger.state, get_essence(call), case.actor)
        if entry is not None:
            return await self._withdraw(case, entry)
        bare = Card.create(
            confirmation_id=f"none-{case.effect_id[:10]}",
            effect_id=case.effect_id,
            essence=get_essence(call),
            method=call.method,
            params=dict(call.params),
        )
        decision = replace(self._build_denial(case), reason=case.effect.comment)
        await case.ledger.buffer(confirmations.build_denial(bare, decision, case.ledger), actor=case.actor.key)
        return _build_withdrawn(case, call.method, call.params)

    async def _withdraw(self, case: _Case, card: Card) -> Outcome:
        """Done again after a crash, it is told alike."""
        if not case.may_withdraw(card):
            return await self._refuse(case, _DECIDED)
        try:
            if card.is_waiting:
                await confirmations.deny(card, self._build_denial(case), case.ledger, ())
        except EffectConflict:  # a person decided just now, and that decision holds
            return await self._refuse(case, _DECIDED)
        return _build_withdrawn(case, card.method, card.params)

    async def _join(self, case: _Case, call: Call, card: Card) -> Pending:
        """The open card for the same call stands for the new one."""
        pending = build_pending(card, method=call.method, turn_id=case.turn_id)
        return pending if card is case.named_card else await self._end_named_card(case, pending)

    async def _end_named_card(self, case: _Case, result: _Result) -> _Result:
        if case.effect.withdraws:
            await self._withdraw(case, case.named_card)
        return result

    def _build_closings(self, case: _Case) -> list[Closing]:
        """Of the card in whose place the call stands, stored with it, so that nobody can approve both."""
        card = case.named_card
        if card is NO_CARD or _is_withdrawn(card):
            return []
        denial = replace(self._build_denial(case), slot=f"{case.effect.slot}/old")  # the step itself stands
        return [confirmations.build_denied_closing(card, denial, case.ledger)]

    def _build_denial(self, case: _Case) -> Decision:
        return Decision(confirmation_id="", nonce="", approve=False, actor=case.actor, via="model", slot=case.effect.slot)

    async def _load_planned(self, case: _Case) -> list[tuple[Call, Records]]:
        """Only those that write product rows: nothing is stored of them, so their records are read anew."""
        effects = [case.effect.model_copy(update={"method": step.method, "params": step.call}) for step in case.effect.planned]
        calls = [call for effect in effects if not isinstance(call := self._normalize(effect, case.actor), Refuse)]
        writing = [call for call in calls if any(writes_rows(leaf) for leaf in call.leaves)]
        return [(call, (await fetch_facts(call, case.actor, self._deps)).records) for call in writing]

    async def _collect_facts(self, case: _Case, call: Call) -> Facts:
        only_planned = case.mode == "shadow" and call.reads_only
        slot, deps = case.effect.slot, self._deps
        part = bool(case.effect.part_of)
        facts = Facts(by_webhook=deps.is_by_webhook(call)) if only_planned else await fetch_facts(call, case.actor, deps, is_part=part)
        denied = case.ledger.state.denied.get(get_essence(call))
        return replace(
            await complete_facts(facts, call, case.actor, slot=slot, place=slot, deps=deps, ledger=case.ledger),
            named_people=await find_named_people(call, case.effect.provenance, case.actor, deps),
            denied_at=denied.at if denied else "",
            denied_by=denied.by if denied else "",
            denied_in_turn=not {get_essence(one) for one in (call, *call.leaves)}.isdisjoint(case.denied),
        )

    def _find_portal(self, kind: str) -> str:
        performer = self._deps.performers.get(kind)
        return performer.portal if performer else ""

    def _build_order(self, case: _Case, call: Call, facts: Facts, name: JsonObject) -> Order:
        return Order(
            effect_id=case.effect_id,
            turn_id=case.turn_id,
            slot=case.effect.slot,
            call=call,
            requested_by=case.actor.key,
            requested_by_user=case.actor.bitrix_user_id,
            proposed_by=case.effect.proposed_by,
            policy=self._deps.policy.digest,
            before=build_before_image(call, facts),
            named=name,
            is_computed=case.effect.is_computed,
        )


def _is_withdrawn(card: Card) -> bool:
    return card.status == "denied" and card.via == "model"


def _build_withdrawn(case: _Case, method: str, params: JsonObject) -> Outcome:
    return Outcome(
        status="refused",
        effect_id=case.effect_id,
        method=method,
        reason=Notice(code="denied-by-model", args={"method": method}),
        detail="withdrawn as you asked; nothing was sent",
        call=dict(params),
    )
