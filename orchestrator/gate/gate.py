"""The one gate: every effect of every engine enters here, and every decision of a person (DESIGN §3). Ring 2.

submit: normalise → look up facts → decide (pure) → refuse, plan, ask or run. decide_card: a person's decision → run once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, assert_never

from bitrix.catalogue import Catalogue
from bitrix.errors import BitrixError
from orchestrator.gate import confirmations, executor
from orchestrator.gate.before import before_image
from orchestrator.gate.confirmations import Asked, Decision
from orchestrator.gate.decide import decide
from orchestrator.gate.effects import Allow, Ask, Call, Facts, PlanOnly, Refuse, Verdict
from orchestrator.gate.executor import Order
from orchestrator.gate.freeze import Unthawable, essence, thaw
from orchestrator.gate.modes import effective
from orchestrator.gate.normalise import normalise
from orchestrator.gate.policy import Policy
from orchestrator.gate.ports import Ledger, Performer, Records
from orchestrator.gate.preview import Names, preview
from orchestrator.gate.recovery import Announce, Recovered, reconcile, recover_started
from orchestrator.gate.rejudged import Again, again, unless_held
from orchestrator.gate.rights import may_touch, needed
from orchestrator.messages import Actor, Effect, Mode, Notice, Outcome, Pending, Provenance
from state.canonical import NotCanonical, dumps, sha256
from state.clock import iso
from state.events import CallRefused, ConfirmationRequested, StepRefused
from state.store import EffectChange, EffectConflict, EffectRow, OutboxRow

FOUND_DONE = "the answer was lost, but the portal shows that it was done"


@dataclass(frozen=True, kw_only=True)
class Decided:
    """What came of a person's decision: an objection, a replacement card, or the outcome."""

    notice: Notice | None = None
    outcome: Outcome | None = None
    replaced_by: ConfirmationRequested | None = None


@dataclass(frozen=True, kw_only=True)
class _Case:
    """One effect on its way through the gate."""

    effect: Effect
    effect_id: str
    turn_id: str
    actor: Actor
    mode: Mode
    ledger: Ledger


class Gate:
    """See the module docstring. Holds no state of its own: all of it is in the ledger it is handed."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        policy: Policy,
        performers: Mapping[str, Performer],
        records: Records,
        names: Names,
        ttl: timedelta,
        present: Callable[[Actor], Actor | None],
    ) -> None:
        """`present` gives the rights that a person has now, None for those who have none any more."""
        self._present = present
        self._catalogue = catalogue
        self._policy = policy
        self._performers = performers
        self._records = records
        self._names = names
        self._ttl = ttl

    @property
    def halt_on_block(self) -> bool:
        """Whether a plan stops at its first step that does not run."""
        return self._policy.halt_on_block

    async def submit(self, effect: Effect, *, actor: Actor, mode: Mode, turn_id: str, ledger: Ledger) -> Outcome | Pending:
        """Judge `effect` and do what the verdict says; the same slot never runs twice, whatever happens.

        Raises StoreUnwritable when the intent cannot be stored (then nothing was sent).
        """
        case = _Case(effect=effect, effect_id=effect_id_of(effect.slot), turn_id=turn_id, actor=actor, mode=mode, ledger=ledger)
        known = await ledger.effect(case.effect_id)
        if known is not None:
            return _as_it_stands(known)
        call = normalise(effect, catalogue=self._catalogue, portal=self._portal(effect.kind), actor=actor, effect_id=case.effect_id)
        if isinstance(call, Refuse):
            return await self._refuse(case, call)
        if effect.confirmation_decision == "deny":
            return await self._deny_by_model(case, call)
        waiting = _open_card(ledger.state, essence(call))
        if waiting is not None:
            return Pending(effect_id=waiting["effect_id"], confirmation_id=waiting["confirmation_id"], method=call.method)
        try:
            facts = await self._facts(case, call)
        except BitrixError as error:
            reason = Notice(code="portal-unreadable", args={"text": str(error)})
            return await self._refuse(case, Refuse(reason=reason, detail=f"the record could not be read: {error}"))
        verdict = decide(call, mode=mode, policy=self._policy, actor=actor, facts=facts, effect=effect)
        verdict = unless_held(_if_unknown_before(verdict, call, ledger.state), call, facts)
        return await self._carry_out(case, call, facts, verdict)

    async def _carry_out(self, case: _Case, call: Call, facts: Facts, verdict: Verdict) -> Outcome | Pending:
        match verdict:
            case Refuse():
                return await self._refuse(case, verdict)
            case PlanOnly():
                return Outcome(
                    status="planned",
                    effect_id=case.effect_id,
                    method=call.method,
                    call_class="".join(call.classes),
                    detail="shadow mode: recorded as a plan, not run",
                    call=dict(call.params),
                    preview=await self._preview(call, facts, case.actor),
                )
            case Ask():
                return await self._ask(case, call, facts, verdict)
            case Allow():
                order = self._order(case, call, facts)
                run = executor.read if call.reads_only else executor.write
                return await run(order, self._performers[call.kind], case.ledger)
            case _:
                assert_never(verdict)

    async def decide_card(self, decision: Decision, *, mode: Mode, ledger: Ledger, announce: Sequence[OutboxRow] = ()) -> Decided:
        """Apply a person's decision. An approval runs its exact call at most once; `announce` goes out with the decision."""
        entry = ledger.state["agent"]["confirmations"].get(decision.confirmation_id)
        notice = confirmations.objection(entry, decision, ledger) or self._entitlement(entry, decision)
        if notice is not None:
            return Decided(notice=notice)
        try:
            if not decision.approve:
                await confirmations.deny(entry, decision, ledger, announce)
                return Decided(notice=Notice(code="card-denied", args={"who": decision.actor.name}))
            await confirmations.approve(entry, decision, ledger, announce)
        except EffectConflict:
            return Decided(notice=Notice(code="card-outdated"))
        return await self.run_approved(entry["effect_id"], mode=effective(mode, decision.actor), ledger=ledger)

    async def run_approved(self, effect_id: str, *, mode: Mode, ledger: Ledger) -> Decided:
        """Run an approved call once, unless the world, the mode or the policy changed since the card was shown."""
        row = await ledger.effect(effect_id)
        if row is None or row.status != "approved":
            return Decided(notice=Notice(code="card-outdated"))
        entry = ledger.state["agent"]["confirmations"].get(row.call["confirmation_id"])
        if entry is None:
            return await self._cannot_run(row, Notice(code="card-outdated"), ledger, detail="its card is not known any more")
        actor = self._present(Actor.model_validate(row.call["actor"]))
        if actor is None:
            return await self._cannot_run(
                row, Notice(code="no-access-any-more"), ledger, detail="the person who asked has no access any more"
            )
        try:
            call = thaw(row.call["call"], self._catalogue)
            facts = await self._facts_of(call, actor)
        except (BitrixError, Unthawable) as error:
            return await self._cannot_run(row, Notice(code="portal-unreadable", args={"text": str(error)}), ledger, detail=str(error))
        effect = Effect(
            kind=call.kind,
            method=call.method,
            params=call.params,
            provenance=Provenance.model_validate(entry.get("provenance") or {}),
        )
        verdict = unless_held(decide(call, mode=mode, policy=self._policy, actor=actor, facts=facts, effect=effect), call, facts)
        if isinstance(verdict, Refuse):
            return await self._cannot_run(row, verdict.reason, ledger, detail=verdict.detail)
        if isinstance(verdict, PlanOnly):
            return await self._cannot_run(row, Notice(code="shadow-now"), ledger, detail="the mode is shadow now: nothing was sent")
        new = again(call, facts=facts, actor=actor, shown=row.call["before"], entry=entry, verdict=verdict)
        if new is not None:
            return await self._drifted(row, entry, new, ledger)
        order = _order_of(row, call, approved_by=entry.get("approved_by", ""))
        try:
            return Decided(outcome=await executor.write(order, self._performers[call.kind], ledger))
        except EffectConflict:
            return Decided(notice=Notice(code="card-outdated"))

    async def recover(self, ledger: Ledger, *, announce: Announce) -> list[Recovered]:
        """Name what a dead process left without an outcome, and look at the portal; sends no write."""
        return await recover_started(ledger, self._catalogue, self._performers, announce)

    async def reconcile(self, row: EffectRow, ledger: Ledger, *, announce: Announce) -> Recovered:
        """Look at the portal for one call of unknown outcome; sends no write."""
        return await reconcile(row, ledger, self._catalogue, self._performers, announce)

    async def _drifted(self, row: EffectRow, entry: Mapping[str, Any], new: Again, ledger: Ledger) -> Decided:
        """The record or the rules changed since the card was shown: the old card closes, a new one shows how things are."""
        order = replace(
            _order_of(row, new.call, approved_by=""),
            effect_id=effect_id_of(f"{row.effect_id}/again"),
            before=before_image(new.call, new.facts),
            confirmation_id="",
        )
        provenance = Provenance.model_validate(entry.get("provenance") or {})
        asked = Asked(
            order=order,
            effect=Effect(method=new.call.method, comment=entry.get("comment", ""), provenance=provenance),
            ask=new.ask,
            preview=await self._preview(new.call, new.facts, new.actor),
            actor=new.actor,
            replaces=entry["confirmation_id"],
        )
        old = confirmations.superseded(entry, why=new.reason.code, expect=("approved",))
        event = await confirmations.request(asked, ledger, self._ttl, supersede=[old])
        return Decided(notice=new.reason, replaced_by=event)

    async def _cannot_run(self, row: EffectRow, reason: Notice, ledger: Ledger, *, detail: str) -> Decided:
        stored = row.call
        event = CallRefused(
            effect_id=row.effect_id,
            turn_id=stored["turn_id"],
            slot=stored["slot"],
            method=stored["call"]["method"],
            call_class="".join(stored["call"]["classes"]),
            code=reason.code,
            detail=detail,
            args=dict(reason.args),
            confirmation_id=stored["confirmation_id"],
        )
        change = EffectChange(effect_id=row.effect_id, expect=("approved",), status="refused")
        await ledger.commit(event, actor="system", effects=[change])
        outcome = Outcome(status="refused", effect_id=row.effect_id, method=event.method, reason=reason, detail=event.detail)
        return Decided(outcome=outcome)

    async def _ask(self, case: _Case, call: Call, facts: Facts, verdict: Ask) -> Pending:
        order = self._order(case, call, facts)
        asked = Asked(
            order=order,
            effect=case.effect,
            ask=verdict,
            preview=await self._preview(call, facts, case.actor),
            actor=case.actor,
        )
        event = await confirmations.request(asked, case.ledger, self._ttl)
        return Pending(
            effect_id=case.effect_id,
            confirmation_id=event.confirmation_id,
            method=call.method,
            reasons=verdict.reasons,
        )

    async def _refuse(self, case: _Case, verdict: Refuse) -> Outcome:
        event = StepRefused(
            turn_id=case.turn_id,
            slot=case.effect.slot,
            method=case.effect.method,
            params=_storable(case.effect.params),
            code=verdict.reason.code,
            detail=verdict.detail,
        )
        await case.ledger.commit(event, actor=case.actor.key)
        return Outcome(
            status="refused",
            effect_id=case.effect_id,
            method=case.effect.method,
            reason=verdict.reason,
            detail=verdict.detail,
            call=dict(case.effect.params),
        )

    async def _deny_by_model(self, case: _Case, call: Call) -> Outcome:
        """The model may only say no (S004-12, A1, A10)."""
        entry = _open_card(case.ledger.state, essence(call))
        decision = Decision(confirmation_id="", nonce="", approve=False, actor=case.actor, via="model")
        if entry is not None:
            try:
                await confirmations.deny(entry, decision, case.ledger, ())
            except EffectConflict:  # a person decided in this very moment: that holds
                return await self._refuse(case, Refuse(reason=Notice(code="card-outdated"), detail="a person decided this meanwhile"))
        else:
            bare = {
                "confirmation_id": f"none-{case.effect_id[:10]}",
                "effect_id": case.effect_id,
                "essence": essence(call),
                "method": call.method,
                "params": dict(call.params),
            }
            event = confirmations.denied_event(bare, case.actor, case.ledger, via="model", reason=case.effect.comment)
            await case.ledger.commit(event, actor=case.actor.key)
        return Outcome(
            status="refused",
            effect_id=case.effect_id,
            method=call.method,
            reason=Notice(code="denied-by-model", args={"method": call.method}),
            detail="withdrawn as you asked; nothing was sent",
            call=dict(call.params),
        )

    async def _facts(self, case: _Case, call: Call) -> Facts:
        """What judging needs; in shadow a proposed read is not even looked up, since looking up would be making it."""
        only_planned = case.mode == "shadow" and call.reads_only
        wanted = () if only_planned else needed(call, case.actor)
        records = await self._records.records(wanted) if wanted else {}
        denied = case.ledger.state["denied"].get(essence(call)) or {}
        return Facts(
            records=records,
            first_stages={} if call.reads_only else await self._records.first_stages(),
            denied_at=denied.get("at", ""),
            denied_by=denied.get("by", ""),
            denied_in_turn=bool(denied) and denied.get("turn_id") == case.turn_id,
        )

    async def _facts_of(self, call: Call, actor: Actor) -> Facts:
        """What was read for the card, read again: no more, or the before-images could not be equal."""
        wanted = needed(call, actor)
        records = await self._records.records(wanted) if wanted else {}
        return Facts(records=records, first_stages=await self._records.first_stages())

    def _entitlement(self, entry: Mapping[str, Any], decision: Decision) -> Notice | None:
        """Who may decide: the requester, or a lead or admin who may see the records (DESIGN §3)."""
        actor = decision.actor
        if not actor.may_approve:
            return Notice(code="may-not-approve")
        if decision.approve and entry.get("four_eyes") and (actor.key == entry["requested_by"] or actor.role == "manager"):
            return Notice(code="four-eyes", args={"who": entry["requested_by_name"]})
        if actor.key == entry["requested_by"]:
            return None
        if actor.role not in {"lead", "admin"}:
            return Notice(code="not-your-card", args={"who": entry["requested_by_name"]})
        records = entry.get("before") or {}
        for name, record in records.items():
            if not may_touch(actor, self._catalogue.entities.get(name.split(":")[0]), record):
                return Notice(code="not-your-card", args={"who": entry["requested_by_name"]})
        return None

    async def _preview(self, call: Call, facts: Facts, actor: Actor) -> dict[str, Any]:
        return await preview(call, facts, self._names, locale=actor.locale, zone=actor.time_zone)

    def _portal(self, kind: str) -> str:
        performer = self._performers.get(kind)
        return performer.portal if performer else ""

    def _order(self, case: _Case, call: Call, facts: Facts) -> Order:
        return Order(
            effect_id=case.effect_id,
            turn_id=case.turn_id,
            slot=case.effect.slot,
            call=call,
            requested_by=case.actor.key,
            proposed_by=case.effect.proposed_by,
            before=before_image(call, facts),
        )


def _if_unknown_before(verdict: Verdict, call: Call, state: Mapping[str, Any]) -> Verdict:
    """A write like one that is on its way or whose outcome is unknown is never free: it might happen twice."""
    if call.reads_only or not isinstance(verdict, Allow | Ask):
        return verdict
    open_ones = [*state["unknown"].values(), *state["agent"]["in_progress"]]
    if essence(call) not in {item.get("essence") for item in open_ones}:
        return verdict
    reason = Notice(code="same-call-unknown")
    return Ask(reasons=(reason,)) if isinstance(verdict, Allow) else replace(verdict, reasons=(*verdict.reasons, reason))


def effect_id_of(slot: str) -> str:
    """The id of the effect in that place of that plan; stable over restarts."""
    return sha256(slot)[:32]


def _storable(params: Mapping[str, Any]) -> dict[str, Any]:
    """`params` as they are, or why they cannot be written down: a refusal must always be."""
    try:
        dumps(params)
    except NotCanonical as error:
        return {"unreadable": str(error)}
    return dict(params)


def _order_of(row: EffectRow, call: Call, *, approved_by: str) -> Order:
    stored = row.call
    return Order(
        effect_id=row.effect_id,
        turn_id=stored["turn_id"],
        slot=stored["slot"],
        call=call,
        requested_by=stored["requested_by"],
        proposed_by=stored["proposed_by"],
        approved_by=approved_by,
        confirmation_id=stored["confirmation_id"],
        before=stored["before"],
    )


def _open_card(state: Mapping[str, Any], wanted: str) -> Mapping[str, Any] | None:
    for entry in state["agent"]["confirmations"].values():
        if entry["status"] == "requested" and entry.get("essence") == wanted:
            return entry  # type: ignore[no-any-return]
    return None


def _as_it_stands(row: EffectRow) -> Outcome | Pending:
    """What became of an effect that was submitted before: after a crash the turn goes on from here and repeats nothing."""
    method = row.call["call"]["method"]
    if row.status in {"requested", "approved"}:
        return Pending(effect_id=row.effect_id, confirmation_id=row.call["confirmation_id"], method=method)
    if row.outcome is not None and row.outcome["status"] == row.status:
        return Outcome.model_validate({**row.outcome, "call": row.call["call"]["params"]})
    if row.status == "succeeded":  # found out by a look at the portal, so there is no answer of it
        found = Outcome(status="succeeded", effect_id=row.effect_id, method=method, detail=FOUND_DONE, call=row.call["call"]["params"])
        return found.model_copy(update={"call_class": "".join(row.call["call"]["classes"])})
    status = "unknown" if row.status in {"started", "unknown"} else "refused"
    code = "outcome-unknown" if status == "unknown" else f"card-already-{row.status}"
    return Outcome(
        status=status,
        effect_id=row.effect_id,
        method=method,
        reason=Notice(code=code, args={"text": "", "who": "", "at": iso(row.updated_at)}),
        detail=f"this step stands as {row.status} since before the restart",
        call=row.call["call"]["params"],
    )
