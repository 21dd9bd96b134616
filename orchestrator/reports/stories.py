"""The whole story of one call: who asked, what the model proposed, what the gate said, who decided, what Bitrix24 answered. Ring 2, pure.

A story is plain data for machines; what people read is made of it by the command line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from bitrix.catalogue import Catalogue
from orchestrator.gate import fields
from orchestrator.gate.targets import definition
from orchestrator.gate.undoing import undoes
from orchestrator.reports.people import Voice
from orchestrator.reports.reading import ERASED, cleaned, gone, one_line, said, session_of
from orchestrator.reports.touching import Touch, touches
from orchestrator.reports.unreadable import Unreadable
from orchestrator.reports.why import Trail, answer_of
from orchestrator.reports.words import refusal_in_words
from state.clock import parse_iso
from state.store import Store, StoredEvent

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


def story_of(trail: Trail, store: Store, *, voice: Voice, catalogue: Catalogue, record: str = "") -> Story:
    """Everything the journal knows of one call; of a batch only the commands about `record`, if one is named."""
    for event in (*trail.turn, *trail.events):
        voice.learn(event)
    method, params = _call(trail)
    touched = [touch for touch in touches(method, params, catalogue) if not record or _about(touch, record)]
    began = trail.first("CallStarted")
    return {
        "kind": "call",
        "at": (began or trail.events[0]).ts,
        "effect_id": trail.effect_id,
        "confirmation_id": _first_value(trail, "confirmation_id"),
        "session": session_of(trail.stream),
        "outcome": _outcome(trail.events),
        "method": method,
        "params": cleaned(params),
        "class": _first_value(trail, "call_class"),
        "records": list(dict.fromkeys(touch.target for touch in touched if touch.target)),
        "changes": _changes(trail, touched, catalogue),
        "asked": _asked(trail, voice),
        "undoes": undoes(trail.slot),
        "proposed": _proposed(trail),
        "judged": _judged(trail, voice),
        "card": _card(trail, voice),
        "run": _run(trail, store, voice),
        "doubt": _doubt(trail),
        "erased": any(event.erased and not isinstance(event, Unreadable) for event in trail.events),
        "unreadable": any(isinstance(event, Unreadable) for event in trail.events),
    }


def _about(touch: Touch, record: str) -> bool:
    """Whether it is about the record, or may have made it."""
    return touch.target == record if touch.target else touch.makes == record.rpartition(":")[0] != ""


def _call(trail: Trail) -> tuple[str, Mapping[str, Any]]:
    """The call as it was sent, else as it was shown, else as it was proposed."""
    for name in ("CallStarted", "ConfirmationRequested", "StepRefused", "ConfirmationDenied", "CallSucceeded", "CallRefused"):
        event = trail.first(name)
        if event is not None and event.data.get("method"):
            return str(event.data["method"]), event.data.get("params") or {}
    step = _step(trail)
    return str(step.get("method") or _first_value(trail, "method")), step.get("params") or {}


def _first_value(trail: Trail, name: str) -> str:
    return next((str(event.data[name]) for event in trail.events if event.data.get(name)), "")


def _outcome(events: Sequence[StoredEvent]) -> str:
    found = "planned"
    for event in events:
        found = _SETTLED.get(event.data["verdict"], found) if event.type == "OutcomeReconciled" else _OUTCOMES.get(event.type, found)
    return found


def _asked(trail: Trail, voice: Voice) -> Story | None:
    message = next((event for event in trail.turn if event.type == "MessageReceived"), None)
    requester = _first_value(trail, "requested_by")
    if message is None:
        return {"by": requester, "person": voice.person(requester), "at": "", "words": "", "origin": ""} if requester else None
    words = one_line(trail.question or message.data["text"], limit=400) or (ERASED if message.erased else "")
    return {
        "by": message.actor,
        "person": voice.person(message.actor),
        "at": message.ts,
        "words": words,
        "origin": message.data.get("origin", "typed"),
        "with_foreign_text": bool(message.data.get("quoted")),
    }


def _step(trail: Trail) -> Mapping[str, Any]:
    """The step of the recorded plan that this call came from."""
    plans = [event for event in (*trail.turn, *trail.events) if event.type == "PlanRecorded"]
    return next((step for plan in plans for step in plan.data["steps"] if trail.slot and step.get("slot") == trail.slot), {})


def _proposed(trail: Trail) -> Story | None:
    """What the model said in the iteration that the call belongs to."""
    place = trail.slot.split("/")
    iteration = int(place[1]) if len(place) > 1 and place[1].isdecimal() else 0
    in_it = [event for event in trail.turn if event.data.get("iteration") == iteration]
    answer = next((event for event in in_it if event.type == "ModelAnswered"), None)
    step = _step(trail)
    if answer is None and not step:
        return None
    thought = _THOUGHT.search(answer.data["text"]) if answer is not None else None
    return {
        "at": answer.ts if answer is not None else "",
        "model": one_line(answer.data.get("model"), limit=80) if answer is not None else "",
        "iteration": iteration,
        "thought": one_line(thought[1], limit=300) if thought else ERASED if answer is not None and answer.erased else "",
        "step": cleaned({name: step[name] for name in ("method", "params", "comment") if name in step}),
    }


def _judged(trail: Trail, voice: Voice) -> Story:
    """What the gate decided, in which mode, and why."""
    plan = next((event for event in (*trail.events, *trail.turn) if event.type == "PlanRecorded" and _holds(event, trail.slot)), None)
    mode = str(plan.data["mode"]) if plan is not None else ""
    refusal, card = trail.first("StepRefused"), trail.first("ConfirmationRequested")
    if refusal is not None:
        why = said(refusal, "detail", limit=300) or voice.say(refusal.data["code"])
        return {"decision": "refused", "mode": mode, "at": refusal.ts, "codes": [refusal.data["code"]], "reasons": [why]}
    if card is not None:
        codes = [str(reason.get("code", "")) for reason in card.data.get("reasons") or ()]
        reasons = voice.reasons(card.data.get("reasons")) or ([gone(card)] if card.erased else [])
        return {"decision": "asked", "mode": mode, "at": card.ts, "codes": codes, "reasons": reasons}
    if trail.first("CallStarted", "CallSucceeded", "CallRefused") is not None:
        return {"decision": "allowed", "mode": mode, "at": trail.events[0].ts, "codes": [], "reasons": ["no rule asks for a person"]}
    if trail.first("ConfirmationDenied") is not None:
        return {"decision": "withdrawn", "mode": mode, "at": trail.events[0].ts, "codes": [], "reasons": ["the model withdrew it"]}
    return {"decision": "planned", "mode": mode, "at": trail.events[0].ts, "codes": [], "reasons": ["plans are only recorded in this mode"]}


def _holds(plan: StoredEvent, slot: str) -> bool:
    return bool(slot) and any(step.get("slot") == slot for step in plan.data["steps"])


def _card(trail: Trail, voice: Voice) -> Story | None:
    """The card as it was shown, and who decided it, when, in which way, after how long."""
    asked = trail.first("ConfirmationRequested")
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
    shown = {**cleaned({name: asked.data.get(name) for name in kept}), "erased": asked.erased}
    since = _since_reopened(trail)
    closed = next((event for event in since if event.type in _CLOSING), None)
    if closed is None:
        return {**shown, "status": "requested", "decided": None}
    status = _OUTCOMES[closed.type]
    by = closed.data.get(f"{status}_by", "")
    decided = {
        "status": status,
        "at": closed.ts,
        "by": by,
        "person": voice.person(by, closed.data.get(f"{status}_by_name", ""), gone=closed.erased) if by else "",
        "via": closed.data.get("via", ""),
        "reason": said(closed, "reason") if closed.data.get("reason") else voice.say(closed.data["why"]) if closed.data.get("why") else "",
        "replaced_by": closed.data.get("by", "") or (_OUTDATED if status == "superseded" else ""),
        "waited_seconds": _between(asked.ts, closed.ts),
    }
    after = [event for event in since if event.type == "ConfirmationSuperseded" and event is not closed]
    if after:  # approved, and the world had changed meanwhile
        decided["superseded"] = {"at": after[0].ts, "why": voice.say(after[0].data["why"])}
    return {**shown, "status": "requested", "decided": decided}


_OUTDATED: Final = "a new card"


def _since_reopened(trail: Trail) -> Sequence[StoredEvent]:
    """What became of the card since it last waited again: an approval before that came to nothing."""
    last = max((place for place, event in enumerate(trail.events) if event.type == "ConfirmationReopened"), default=-1)
    return trail.events[last + 1 :]


def _run(trail: Trail, store: Store, voice: Voice) -> Story | None:
    """When the call began, and what Bitrix24 answered."""
    began, ended = trail.first("CallStarted"), trail.first("CallSucceeded", "CallRefused", "CallOutcomeUnknown")
    if began is None and ended is None:
        return None
    told: Story = {"started_at": began.ts if began else "", "ended_at": ended.ts if ended else ""}
    if ended is None:
        return {**told, "outcome": "started", "answer": "", "seconds": None}
    data = ended.data
    told |= {"outcome": _OUTCOMES[ended.type], "seconds": data.get("seconds"), "sent": began is not None}
    match ended.type:
        case "CallSucceeded":
            answer = one_line(answer_of(ended, store), limit=300) or (ERASED if ended.erased else "")
            commands = [cleaned(dict(item)) for item in data.get("commands") or ()]
            return {**told, "answer": answer, "commands": commands, "unchanged": list(data.get("unchanged") or ())}
        case "CallRefused":
            return {**told, "answer": refusal_in_words(data, voice), "code": data.get("code", "")}
        case _:
            return {**told, "answer": said(ended, "detail")}


def _doubt(trail: Trail) -> Story | None:
    """When the outcome became unknown, and what later looks at the portal showed."""
    lost = trail.first("CallOutcomeUnknown")
    if lost is None:
        return None
    looks = [event for event in trail.events if event.type == "OutcomeReconciled"]
    told = [{"at": event.ts, "verdict": event.data["verdict"], "detail": said(event, "detail")} for event in looks]
    return {"at": lost.ts, "detail": said(lost, "detail"), "looks": told}


def _between(start: str, end: str) -> float:
    return round((parse_iso(end) - parse_iso(start)).total_seconds(), 3)


def _changes(trail: Trail, touched: Sequence[Touch], catalogue: Catalogue) -> list[dict[str, Any]]:
    """Before → after of each field: as the card said it, else as the record and the call said it."""
    asked = trail.first("ConfirmationRequested")
    preview = (asked.data.get("preview") or {}) if asked is not None else {}
    found = [change for touch in touched for change in _of_touch(touch, trail, preview, catalogue)]
    return [{name: value if isinstance(value, bool) else one_line(value) for name, value in change.items()} for change in found]


def _of_touch(touch: Touch, trail: Trail, preview: Mapping[str, Any], catalogue: Catalogue) -> Iterator[dict[str, Any]]:
    about = touch.target or (f"new {touch.makes}" if touch.makes else "")
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
    began = trail.first("CallStarted")
    before = ((began.data.get("before") or {}).get(touch.target) or {}) if began is not None else {}
    entity = definition(touch.entity, catalogue)
    for name, value in touch.fields.items():
        old = fields.value_of(before, name, touch.entity)
        yield {
            "record": about,
            "field": name,
            "name": fields.label(entity, name, "en"),
            "before": old,
            "after": cleaned({name: value})[name],
            "before_recorded": not touch.target or fields.has(before, name, touch.entity),
        }
