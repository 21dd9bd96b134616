"""What must hold of a run, whenever and however often it died. Pure; every finding is one sentence."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from orchestrator.domain.inputs import TurnGoesOn
from orchestrator.gate.call.serialization import build_effect_id
from tests.crash.lab import Evidence, Question
from tests.crash.lab_demands import JUDGED_HERE, demands, list_cards
from tests.crash.lab_order import dead_handles, unflushed
from tests.crash.lab_script import DONE, NOT_DONE, SCRIPTS, UNKNOWN, Change, changes

FINAL = {
    "succeeded": ("done", "executed"),
    "refused": ("not done", "refused"),
    "unknown": ("unknown", "unknown"),
    "denied": ("denied", "denied"),
    "expired": ("expired", "expired"),
}
"""How a change may stand at the end: what the person was told then, and how its card was left."""
_TAKEN_OFF = "stop-queue"
DOUBLED = re.compile(r"written [2-9]|written \d\d|asked again|is doubled")
LOST = re.compile(r"the acknowledged input|was told nothing|was never told|nothing was told|is lost")


def findings(run: Evidence) -> list[str]:
    """Everything that does not hold; of a run whose disk was troubled the person may have been told so."""
    if not run.finished:
        return [f"no child came to rest: exit codes {list(run.codes)}"]
    found = [
        *check_journal(run),
        *_inputs(run),
        *_model(run),
        *_moments(run),
        *_news(run),
        *unflushed(run.trace),
        *dead_handles(run.trace),
        *_strangers(run),
        *demands(run),
    ]
    if not run.troubled:
        found.extend(f"the person was told of trouble: {line['code']}" for line in run.lines if line["kind"] == "trouble")
    for change in changes(run.script):
        found.extend(_change(change, run))
    return found


def check_journal(run: Evidence) -> Iterator[str]:
    """Every chain is whole, and every state that is loaded or worked with is the fold of its events."""
    for stream, seen in run.report["streams"].items():
        if seen["verified"] != "Verified":
            yield f"the chain of {stream} is damaged"
        if seen["loaded"] != seen["state"]:
            yield f"the state loaded of {stream} is not the fold of its events"
        if stream in run.report["live"] and run.report["live"][stream] != seen["state"]:
            yield f"the state worked with in {stream} is not the fold of its events"


def _inputs(run: Evidence) -> Iterator[str]:
    """Every acknowledged input is there once, done, and answered."""
    stored = {source: (row_id, status) for row_id, source, status in run.inbox}
    if len(stored) != len(run.inbox):
        yield "an input is doubled in the inbox"
    for source in dict.fromkeys(line["source"] for line in run.lines if line["kind"] == "acknowledged"):
        row_id, status = stored.get(source, ("", "lost"))
        if status != "done":
            yield f"the acknowledged input {source} is {status}"
        elif not _answered(source, row_id, run):
            yield f"the acknowledged input {source} was never answered"


def _answered(source: str, row_id: str, run: Evidence) -> bool:
    """By a toast, a reply, or what is judged elsewhere: the card of a typed answer, the news of an event."""
    replies = [line for line in run.lines if line["kind"] == "reply"]
    match source.split("/")[1]:
        case "yes" | "first" | "second" | "third":
            return True
        case part if part in JUDGED_HERE:
            return True
        case "stop":
            return bool(_list_notices(replies) & {"stopping", "nothing-to-stop", _TAKEN_OFF})
        case "rest":
            return run.world.heard_the_rest  # it is answered with its first piece, if it came along
        case part if part.startswith("press"):
            return any(line["kind"] == "toast" and line["body"]["callback_id"] == source for line in run.lines)
        case _ if _is_taken_off(source, row_id, run):
            return True
        case _:
            return any(line["key"] == f"turn:{row_id}" or line["key"].startswith(f"turn:{row_id}+") for line in replies)


def _list_notices(replies: Iterable[Mapping[str, Any]]) -> set[str]:
    return {notice["code"] for line in replies for notice in line["body"]["notices"]}


def _is_taken_off(source: str, row_id: str, run: Evidence) -> bool:
    """Whether a /stop that came later said that it took inputs off, and no turn has begun for this one, as after trouble of the disk."""
    begun = any(event["type"] == "MessageReceived" and event["data"]["turn_id"] == row_id for event in run.report["journal"])
    told = [line for line in run.lines if line["kind"] == "reply" or line.get("source") == source]
    after = itertools.dropwhile(lambda line: line["kind"] != "acknowledged", told)
    return not begun and _TAKEN_OFF in _list_notices(line for line in after if line["kind"] == "reply")


def _model(run: Evidence) -> Iterator[str]:
    """No answer that was stored is asked for again, none is stored twice, and no life asks twice for the same iteration of a turn.

    A life whose disk fails may ask again, since it could not store the answer, and so may one that the answer did not reach: which request
    a trouble befalls is its number, and that may be another one where the order of two requests is not fixed.
    """
    known = {line["generation"]: {tuple(item) for item in line["answers"]} for line in run.lines if line["kind"] == "begun"}
    asked = [(question, _find_place(question, run)) for question in run.world.asked]
    for question, place in asked:
        if place in known.get(question.generation, ()):
            yield f"the model was asked again for {place} of «{question.text}», which was stored"
    for (pid, text, place), times in Counter((one.pid, one.text, place) for one, place in asked if not one.is_lost).items():
        if times > 1 and not run.troubled:
            yield f"the model was asked again for {place} of «{text}»: {times} times by the process {pid}"
    stored = Counter(
        (event["data"]["turn_id"], event["data"]["iteration"]) for event in run.report["journal"] if event["type"] == "ModelAnswered"
    )
    places = {place for _, place in asked}
    for place, times in stored.items():
        if times > 1:
            yield f"the model was asked again for {place}: {times} answers are stored"
        if place not in places:
            yield f"an answer is stored for {place}, for which nobody had asked"


def _find_place(question: Question, run: Evidence) -> tuple[str, int]:
    """(turn, the number of its answer) for which the model was asked, as the journal counts.

    A turn that goes on is asked about under the input that lets it go on. The first plan of a turn that began with a choice was another turn's answer.
    """
    source = next((source for row_id, source, _ in run.inbox if row_id == question.input_id), "")
    turn = source.split(":")[1] if source.startswith(f"{TurnGoesOn.KIND}:") else question.input_id
    begun = (event["data"] for event in run.report["journal"] if event["type"] == "MessageReceived" and event["data"]["turn_id"] == turn)
    return turn, question.iteration - sum(bool(data["answers"]) for data in begun)


def _moments(run: Evidence) -> Iterator[str]:
    """No card is approved or run once its time is over; ids are there once, and within a process they sort as they came."""
    events: Sequence[Mapping[str, Any]] = run.report["journal"]
    expires = {
        event["data"]["confirmation_id"]: event["data"]["expires_at"] for event in events if event["type"] == "ConfirmationRequested"
    }
    for event in events:
        if event["type"] == "ConfirmationApproved" and event["data"]["approved_at"] >= expires[event["data"]["confirmation_id"]]:
            yield "a card was approved after its time was over"
    ids = [event["id"] for event in events]
    if len(set(ids)) != len(ids):
        yield "an id of the journal is doubled"


def _news(run: Evidence) -> Iterator[str]:
    """What was changed in the portal and told by it is told to the person."""
    events = [step for step in SCRIPTS[run.script] if step.kind == "event"]
    changed = [json.loads(step.text)["OPPORTUNITY"] for step in SCRIPTS[run.script] if step.kind == "portal"] if events else []
    news = [json.dumps(line["body"], ensure_ascii=False) for line in run.lines if line["kind"] == "news"]
    for value in changed:
        if not any(value.partition(".")[0] in re.sub(r"[^\d]", "", text) for text in news):
            yield f"the change to {value} was never told"


def _strangers(run: Evidence) -> Iterator[str]:
    """A press that was not the person's own to make has decided nothing."""
    toasts = {line["body"]["callback_id"]: line["body"]["notice"]["code"] for line in run.lines if line["kind"] == "toast"}
    for step in SCRIPTS[run.script]:
        for number, token in enumerate(step.text.replace(";", " ").split() if step.kind in {"presses", "meanwhile"} else ()):
            strange = [code for source, code in toasts.items() if source.startswith(f"{step.sources[0]}-{number}/")]
            if token.endswith(("@8", "@colleague", "@forged")) and {"toast-running", "toast-denied"} & set(strange):
                yield f"a press that counts for nothing ({token}) was taken for a decision"


def _change(change: Change, run: Evidence) -> Iterator[str]:
    """One change against the portal's ledger, the effects table, and the person's screen."""
    times = run.world.written(change.mark)
    marked = [row for row in run.report["effects"] if change.mark in json.dumps(row["call"]["call"], ensure_ascii=False)]
    effects = [row for row in marked if row["status"] != "superseded"]
    if times > 1:
        yield f"{change.mark} was written {times} times"
    if change.avoidable and not effects:
        yield from _not_begun(change, run, times)
        return
    if len(effects) != 1 or effects[0]["status"] not in FINAL:
        yield f"{change.mark} stands as {[row['status'] for row in marked]}"
        return
    if change.drifts and times and len(effects) == len(marked):
        yield f"{change.mark} was approved as things stood before, and ran as they stand now"
    effect = effects[0]
    status = effect["status"]
    told = _told(change, effect, run)
    if change.denied and (times or status != "denied" or "denied" not in told):
        yield f"{change.mark} was denied, stands as {status}, was written {times} times"
    if ("done" in told or status == "succeeded") and times != 1:
        yield f"{change.mark} was told as {sorted(told)} and stands as {status}, but was written {times} times"
    if ("not done" in told or status in {"refused", "denied", "expired"}) and times:
        yield f"{change.mark} was told as {sorted(told)} and stands as {status}, but was written"
    if FINAL[status][0] not in told:
        yield f"{change.mark} stands as {status}, but the person was told {sorted(told) or 'nothing'}"


def _not_begun(change: Change, run: Evidence, times: int) -> Iterator[str]:
    """A change of which there is no effect: it did not happen, and where it was planned the person knows that."""
    if times:
        yield f"{change.mark} was written {times} times and stands nowhere"
    if not all(_named_as_left(slot, change, run) for slot in _planned(change, run)):
        yield f"{change.mark} was proposed and not begun, and the person was never told"


def _planned(change: Change, run: Evidence) -> list[str]:
    """The places of the plans at which the change was proposed."""
    plans = [event["data"]["steps"] for event in run.report["journal"] if event["type"] == "PlanRecorded"]
    return [step["slot"] for steps in plans for step in steps if change.mark in json.dumps(step["params"], ensure_ascii=False)]


def _named_as_left(slot: str, change: Change, run: Evidence) -> bool:
    """Whether the answer of that turn says that what was proposed there was not made."""
    turn_id = slot.partition("/")[0]
    answers = [line["body"] for line in run.lines if line["kind"] == "reply" and _is_answer(line, turn_id)]
    notices = [notice for body in answers for notice in body["notices"] if notice["code"] == "not-made"]
    words = json.dumps([body["parts"] for body in answers], ensure_ascii=False)
    return any(_names(notice, build_effect_id(slot)) for notice in notices) or f"{NOT_DONE}:{change.mark}" in words


def _is_answer(line: Mapping[str, Any], turn_id: str) -> bool:
    """Whether a reply is the answer of that turn, or of its part after the cards, which has a key of its own."""
    return line["key"] == f"turn:{turn_id}" or (line["key"].startswith("turn:") and line["body"].get("turn_id") == turn_id)


def _names(notice: Mapping[str, Any], effect_id: str) -> bool:
    """Whether the sentence lists the call of that effect."""
    return effect_id in {call["args"].get("effect_id") for call in notice["args"]["calls"]}


def _told(change: Change, effect: Mapping[str, Any], run: Evidence) -> set[str]:
    """Everything the person has been told of one change."""
    told = set()
    last_card = ""
    for line in run.lines:
        for card in list_cards(line):
            if card["effect_id"] == effect["effect_id"]:
                last_card = card["status"]
                told |= {{"executed": "done", "refused": "not done"}.get(last_card, last_card)}
        if line["kind"] == "reply":
            told |= _of_reply(line, change, effect, doubted=effect["effect_id"] in run.report["doubted"])
    if effect["call"]["confirmation_id"]:
        final = FINAL[effect["status"]][1]
        if last_card != final:
            told.add(f"card left as {last_card}")
    return told


def _of_reply(line: Mapping[str, Any], change: Change, effect: Mapping[str, Any], *, doubted: bool) -> set[str]:
    text = json.dumps(line["body"]["parts"], ensure_ascii=False)
    words = {DONE: "done", UNKNOWN: "unknown", NOT_DONE: "not done"}
    told = {meaning for word, meaning in words.items() if f"{word}:{change.mark}" in text}
    for notice in line["body"]["notices"]:
        own = _is_answer(line, effect["call"]["turn_id"])
        named = notice["args"].get("effect_id", "")  # none where a card has the button
        its = {"method": change.method, **(effect["call"].get("named") or {})}  # two calls of one method differ in what they change
        about = doubted and its.items() <= notice["args"].items() and named in {"", effect["effect_id"]}
        match notice["code"]:
            case "outcome-unknown" if own:
                told.add("unknown")
            case "made" if own and named == effect["effect_id"]:
                told.add("done")
            case "done-before" if own and _names(notice, effect["effect_id"]):
                told.add("done")
            case "not-made" if own and _names(notice, effect["effect_id"]):
                told.add("not done")
            case "recovered-unclear" if about:
                told.add("unknown")
            case "recovered-done" if about:
                told.add("done")
            case "recovered-not-done" if about:
                told.add("not done")
    return told
