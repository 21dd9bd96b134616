"""Builds the story of one call: who asked, what the model proposed, what the gate said, who decided, what Bitrix24 answered.

A story is plain data; the command line turns it into text for people.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.gate.approve.undo_policy import parse_undo_slot
from orchestrator.gate.call import fields
from orchestrator.gate.call.targets import find_definition
from orchestrator.reports.reading.damaged_records import UnreadableEvent
from orchestrator.reports.reading.journal_reader import ERASED, describe_gap, format_text, hide_secrets, to_one_line, to_session_name
from orchestrator.reports.reading.narrator import Narrator
from orchestrator.reports.reading.sentences import describe_refusal
from orchestrator.reports.why.call_search import CallTrail, load_answer
from orchestrator.reports.why.touched_records import TouchedRecord, find_touched_records
from state.clock import parse_iso
from state.events.calls import CallRefused
from state.journal.store import Store, StoredEvent

Story = dict[str, Any]
_THOUGHT: Final = re.compile(r"THOUGHT:\s*(.*?)\s*(?=^\W{0,3}(?:ACTION|ASSISTANT)\W{0,3}:|\Z)", re.DOTALL | re.MULTILINE)
_OUTCOMES: Final = {
    "ConfirmationRequested": "waiting",
    "ConfirmationApproved": "approved",
    "ConfirmationReopened": "waiting",
    "ConfirmationDenied": "denied",
    "ConfirmationExpired": "expired",
    "ConfirmationSuperseded": "superseded",
    "CallStarted": "started",
    "CallSucceeded": "succeeded",
    "CallRefused": "refused",
    "CallOutcomeUnknown": "unknown",
    "StepRefused": "refused",
    "PlanRecorded": "planned",
}
_SETTLED: Final = {"done": "succeeded", "not_done": "refused"}
_CLOSING: Final = ("ConfirmationApproved", "ConfirmationDenied", "ConfirmationExpired", "ConfirmationSuperseded")


def build_story(trail: CallTrail, store: Store, *, voice: Narrator, catalogue: Catalogue, record: str = "") -> Story:
    """Return everything the journal knows of one call; for a batch, only the commands about `record` if one is given."""
    for event in (*trail.turn, *trail.events):
        voice.remember_names(event)
    method, params = _find_call(trail)
    touched = [touch for touch in find_touched_records(method, params, catalogue) if not record or _is_about(touch, record)]
    began = trail.find_first("CallStarted")
    return {
        "kind": "call",
        "at": (began or trail.events[0]).ts,
        "effect_id": trail.effect_id,
        "confirmation_id": _find_first_value(trail, "confirmation_id"),
        "session": to_session_name(trail.stream),
        "outcome": _find_outcome(trail.events),
        "method": method,
        "params": hide_secrets(params),
        "class": _find_first_value(trail, "call_class"),
        "records": list(dict.fromkeys(touch.target for touch in touched if touch.target)),
        "changes": _build_changes(trail, touched, catalogue),
        "asked": _build_request(trail, voice),
        "undoes": parse_undo_slot(trail.slot),
        "proposed": _build_proposal(trail),
        "judged": _build_verdict(trail, voice),
        "card": _build_card(trail, voice),
        "run": _build_run(trail, store, voice),
        "doubt": _build_doubt(trail),
        "erased": any(event.erased and not isinstance(event, UnreadableEvent) for event in trail.events),
        "unreadable": any(isinstance(event, UnreadableEvent) for event in trail.events),
    }


def _is_about(touch: TouchedRecord, record: str) -> bool:
    """Return whether the call is about the record, or may have created it."""
    return touch.target == record if touch.target else touch.created_kind == record.rpartition(":")[0] != ""


def _find_call(trail: CallTrail) -> tuple[str, Mapping[str, Any]]:
    """Return the call as it was sent, else as the card showed it, else as it was proposed."""
    for name in ("CallStarted", "ConfirmationRequested", "StepRefused", "ConfirmationDenied", "CallSucceeded", "CallRefused"):
        event = trail.find_first(name)
        if event is not None and event.data.get("method"):
            return str(event.data["method"]), event.data.get("params") or {}
    step = _find_step(trail)
    return str(step.get("method") or _find_first_value(trail, "method")), step.get("params") or {}


def _find_first_value(trail: CallTrail, name: str) -> str:
    return next((str(event.data[name]) for event in trail.events if event.data.get(name)), "")


def _find_outcome(events: Sequence[StoredEvent]) -> str:
    found = "planned"
    for event in events:
        found = _SETTLED.get(event.data["verdict"], found) if event.type == "OutcomeReconciled" else _OUTCOMES.get(event.type, found)
    return found


def _build_request(trail: CallTrail, voice: Narrator) -> Story | None:
    message = next((event for event in trail.turn if event.type == "MessageReceived"), None)
    requester = _find_first_value(trail, "requested_by")
    if message is None:
        return {"by": requester, "person": voice.format_person(requester), "at": "", "words": "", "origin": ""} if requester else None
    words = to_one_line(trail.question or message.data["text"], limit=400) or (ERASED if message.erased else "")
    return {
        "by": message.actor,
        "person": voice.format_person(message.actor),
        "at": message.ts,
        "words": words,
        "origin": message.data.get("origin", "typed"),
        "with_foreign_text": bool(message.data.get("quoted")),
    }


def _find_step(trail: CallTrail) -> Mapping[str, Any]:
    """Return the step of the recorded plan that this call came from."""
    plans = [event for event in (*trail.turn, *trail.events) if event.type == "PlanRecorded"]
    return next((step for plan in plans for step in plan.data["steps"] if trail.slot and step.get("slot") == trail.slot), {})


def _build_proposal(trail: CallTrail) -> Story | None:
    """Return what the model said in the iteration that the call belongs to."""
    place = trail.slot.split("/")
    iteration = int(place[1]) if len(place) > 1 and place[1].isdecimal() else 0
    in_it = [event for event in trail.turn if event.data.get("iteration") == iteration]
    answer = next((event for event in in_it if event.type == "ModelAnswered"), None)
    step = _find_step(trail)
    if answer is None and not step:
        return None
    thought = _THOUGHT.search(answer.data["text"]) if answer is not None else None
    return {
        "at": answer.ts if answer is not None else "",
        "model": to_one_line(answer.data.get("model"), limit=80) if answer is not None else "",
        "iteration": iteration,
        "thought": to_one_line(thought[1], limit=300) if thought else ERASED if answer is not None and answer.erased else "",
        "step": hide_secrets({name: step[name] for name in ("method", "params", "comment") if name in step}),
    }


def _build_verdict(trail: CallTrail, voice: Narrator) -> Story:
    """Return what the gate decided, in which mode, and why."""
    plan = next((event for event in (*trail.events, *trail.turn) if event.type == "PlanRecorded" and _has_slot(event, trail.slot)), None)
    mode = str(plan.data["mode"]) if plan is not None else ""
    refusal, card = trail.find_first("StepRefused"), trail.find_first("ConfirmationRequested")
    if refusal is not None:
        why = format_text(refusal, "detail", limit=300) or voice.render_sentence(refusal.data["code"])
        return {"decision": "refused", "mode": mode, "at": refusal.ts, "codes": [refusal.data["code"]], "reasons": [why]}
    if card is not None:
        codes = [str(reason.get("code", "")) for reason in card.data.get("reasons") or ()]
        reasons = voice.describe_reasons(card.data.get("reasons")) or ([describe_gap(card)] if card.erased else [])
        return {"decision": "asked", "mode": mode, "at": card.ts, "codes": codes, "reasons": reasons}
    if trail.find_first("CallStarted", "CallSucceeded", "CallRefused") is not None:
        return {"decision": "allowed", "mode": mode, "at": trail.events[0].ts, "codes": [], "reasons": ["no rule asks for a person"]}
    if trail.find_first("ConfirmationDenied") is not None:
        return {"decision": "withdrawn", "mode": mode, "at": trail.events[0].ts, "codes": [], "reasons": ["the model withdrew it"]}
    return {"decision": "planned", "mode": mode, "at": trail.events[0].ts, "codes": [], "reasons": ["plans are only recorded in this mode"]}


def _has_slot(plan: StoredEvent, slot: str) -> bool:
    return bool(slot) and any(step.get("slot") == slot for step in plan.data["steps"])


def _build_card(trail: CallTrail, voice: Narrator) -> Story | None:
    """Return the card as it was shown, and who decided it, when, on which channel and after how long."""
    asked = trail.find_first("ConfirmationRequested")
    if asked is None:
        return None
    kept = (
        "confirmation_id",
        "method",
        "preview",
        "reasons",
        "requested_by_name",
        "requested_at",
        "expires_at",
        "taps",
        "four_eyes",
        "replaces",
    )
    shown = {**hide_secrets({name: asked.data.get(name) for name in kept}), "erased": asked.erased}
    since = _list_since_reopened(trail)
    closed = next((event for event in since if event.type in _CLOSING), None)
    if closed is None:
        return {**shown, "status": "requested", "decided": None}
    status = _OUTCOMES[closed.type]
    by = closed.data.get(f"{status}_by", "")
    decided = {
        "status": status,
        "at": closed.ts,
        "by": by,
        "person": voice.format_person(by, closed.data.get(f"{status}_by_name", ""), gone=closed.erased) if by else "",
        "via": closed.data.get("via", ""),
        "reason": format_text(closed, "reason")
        if closed.data.get("reason")
        else voice.render_sentence(closed.data["why"])
        if closed.data.get("why")
        else "",
        "replaced_by": closed.data.get("by", "") or (_OUTDATED if status == "superseded" else ""),
        "waited_seconds": _count_seconds(asked.ts, closed.ts),
    }
    after = [event for event in since if event.type == "ConfirmationSuperseded" and event is not closed]
    if after:  # approved, but its data had changed meanwhile
        decided["superseded"] = {"at": after[0].ts, "why": voice.render_sentence(after[0].data["why"])}
    return {**shown, "status": "requested", "decided": decided}


_OUTDATED: Final = "a new card"


def _list_since_reopened(trail: CallTrail) -> Sequence[StoredEvent]:
    """Return the events after the card was last reopened: an approval before that had no effect."""
    last = max((place for place, event in enumerate(trail.events) if event.type == "ConfirmationReopened"), default=-1)
    return trail.events[last + 1 :]


def _build_run(trail: CallTrail, store: Store, voice: Narrator) -> Story | None:
    """Return when the call began, and what Bitrix24 answered."""
    began, ended = trail.find_first("CallStarted"), trail.find_first("CallSucceeded", "CallRefused", "CallOutcomeUnknown")
    if began is None and ended is None:
        return None
    told: Story = {"started_at": began.ts if began else "", "ended_at": ended.ts if ended else ""}
    if ended is None:
        return {**told, "outcome": "started", "answer": "", "seconds": None}
    data = ended.data
    told |= {"outcome": _OUTCOMES[ended.type], "seconds": data.get("seconds"), "sent": began is not None}
    match ended.type:
        case "CallSucceeded":
            answer = to_one_line(load_answer(ended, store), limit=300) or (ERASED if ended.erased else "")
            commands = [hide_secrets(dict(item)) for item in data.get("commands") or ()]
            return {**told, "answer": answer, "commands": commands, "unchanged": list(data.get("unchanged") or ())}
        case "CallRefused":
            return {**told, "answer": describe_refusal(CallRefused.from_data(data), voice), "code": data.get("code", "")}
        case _:
            return {**told, "answer": format_text(ended, "detail")}


def _build_doubt(trail: CallTrail) -> Story | None:
    """Return when the outcome became unknown, and what later looks at the portal showed."""
    lost = trail.find_first("CallOutcomeUnknown")
    if lost is None:
        return None
    looks = [event for event in trail.events if event.type == "OutcomeReconciled"]
    told = [{"at": event.ts, "verdict": event.data["verdict"], "detail": format_text(event, "detail")} for event in looks]
    return {"at": lost.ts, "detail": format_text(lost, "detail"), "looks": told}


def _count_seconds(start: str, end: str) -> float:
    return round((parse_iso(end) - parse_iso(start)).total_seconds(), 3)


def _build_changes(trail: CallTrail, touched: Sequence[TouchedRecord], catalogue: Catalogue) -> list[dict[str, Any]]:
    """Return before → after of each field: from the card, else from the before-image and the call."""
    asked = trail.find_first("ConfirmationRequested")
    preview = (asked.data.get("preview") or {}) if asked is not None else {}
    found = [change for touch in touched for change in _build_touch_changes(touch, trail, preview, catalogue)]
    return [{name: value if isinstance(value, bool) else to_one_line(value) for name, value in change.items()} for change in found]


def _build_touch_changes(
    touch: TouchedRecord, trail: CallTrail, preview: Mapping[str, Any], catalogue: Catalogue
) -> Iterator[dict[str, Any]]:
    about = touch.target or (f"new {touch.created_kind}" if touch.created_kind else "")
    items = preview.get("items") or ()
    item = next((item for item in items if item.get("key") == touch.key), None) if touch.key else preview
    lines = (item or {}).get("lines") or ()
    if lines:
        yield from (
            {
                "record": about,
                "field": line.get("field", ""),
                "name": line.get("name", ""),
                "before": line.get("before"),
                "after": line.get("after"),
                "before_recorded": True,
            }
            for line in lines
        )
        return
    began = trail.find_first("CallStarted")
    before = ((began.data.get("before") or {}).get(touch.target) or {}) if began is not None else {}
    entity = find_definition(touch.entity, catalogue)
    for name, value in touch.fields.items():
        old = fields.find_value(before, name, touch.entity)
        yield {
            "record": about,
            "field": name,
            "name": fields.find_label(entity, name, "en"),
            "before": old,
            "after": hide_secrets({name: value})[name],
            "before_recorded": not touch.target or fields.has_field(before, name, touch.entity),
        }
