"""What must hold of a run, whenever and however often it died. Pure; every finding is one sentence."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from lab import Evidence
from lab_script import DONE, NOT_DONE, UNKNOWN, Change, changes

SETTLED = {"succeeded", "refused", "unknown", "denied"}


def findings(run: Evidence) -> list[str]:
    """Everything that does not hold."""
    if not run.finished:
        return [f"no child came to rest: exit codes {list(run.codes)}"]
    found = [*_journal(run), *_inputs(run), *_model(run)]
    for change in changes(run.script):
        found.extend(_change(change, run))
    return found


def _journal(run: Evidence) -> Iterator[str]:
    for stream, seen in run.report["streams"].items():
        if seen["verified"] != "Verified":
            yield f"the chain of {stream} is damaged"
        if seen["loaded"] != seen["state"]:
            yield f"the state loaded of {stream} is not the fold of its events"
        if stream in run.report["live"] and run.report["live"][stream] != seen["state"]:
            yield f"the state worked with in {stream} is not the fold of its events"
    for line in run.lines:
        if line["kind"] == "trouble":
            yield f"the person was told of trouble: {line['code']}"


def _inputs(run: Evidence) -> Iterator[str]:
    """Every acknowledged input is there once, done, and answered."""
    stored = {source: (row_id, status) for row_id, source, status in run.inbox}
    toasts = {line["body"]["callback_id"] for line in run.lines if line["kind"] == "toast"}
    keys = {line["key"] for line in run.lines if line["kind"] == "reply"}
    for source in (line["source"] for line in run.lines if line["kind"] == "acknowledged"):
        row_id, status = stored.get(source, ("", "lost"))
        if status != "done":
            yield f"the acknowledged input {source} is {status}"
        answered = source in toasts if "/press" in source else f"turn:{row_id}" in keys
        if not answered:
            yield f"the acknowledged input {source} was never answered"


def _model(run: Evidence) -> Iterator[str]:
    """No answer that was stored is asked for again."""
    known = {line["generation"]: [tuple(item) for item in line["answers"]] for line in run.lines if line["kind"] == "begun"}
    for generation, asked, iteration in run.world.asked:
        if (asked, iteration) in known.get(generation, []):
            yield f"the model was asked again for iteration {iteration} of «{asked}»"


def _change(change: Change, run: Evidence) -> Iterator[str]:
    """One change against the portal's ledger, the effects table, and the person's screen."""
    times = run.world.written(change.mark)
    effects = [row for row in run.report["effects"] if change.mark in json.dumps(row["call"], ensure_ascii=False)]
    if times > 1:
        yield f"{change.mark} was written {times} times"
    if len(effects) != 1 or effects[0]["status"] not in SETTLED:
        yield f"{change.mark} stands as {[row['status'] for row in effects]}"
        return
    effect = effects[0]
    status = effect["status"]
    told = _told(change, effect, run)
    if change.denied and (times or status != "denied" or "denied" not in told):
        yield f"{change.mark} was denied, stands as {status}, was written {times} times"
    if ("done" in told or status == "succeeded") and times != 1:
        yield f"{change.mark} was told as {sorted(told)} and stands as {status}, but was written {times} times"
    if ("not done" in told or status == "refused") and times:
        yield f"{change.mark} was told as {sorted(told)} and stands as {status}, but was written"
    wanted = {"succeeded": "done", "refused": "not done", "unknown": "unknown", "denied": "denied"}[status]
    if wanted not in told:
        yield f"{change.mark} stands as {status}, but the person was told {sorted(told) or 'nothing'}"


def _told(change: Change, effect: Mapping[str, Any], run: Evidence) -> set[str]:
    """Everything the person has been told of one change."""
    told = set()
    last_card = ""
    for line in run.lines:
        if line["kind"] == "card" and line["body"]["effect_id"] == effect["effect_id"]:
            last_card = line["body"]["status"]
            told |= {{"executed": "done", "refused": "not done"}.get(last_card, last_card)}
        if line["kind"] == "reply":
            told |= _of_reply(line, change, effect, doubted=effect["effect_id"] in run.report["doubted"])
    if effect["call"]["confirmation_id"]:
        final = {"succeeded": "executed", "refused": "refused", "unknown": "unknown", "denied": "denied"}[effect["status"]]
        if last_card != final:
            told.add(f"card left as {last_card}")
    return told


def _of_reply(line: Mapping[str, Any], change: Change, effect: Mapping[str, Any], *, doubted: bool) -> set[str]:
    text = json.dumps(line["body"]["parts"], ensure_ascii=False)
    words = {DONE: "done", UNKNOWN: "unknown", NOT_DONE: "not done"}
    told = {meaning for word, meaning in words.items() if f"{word}:{change.mark}" in text}
    for notice in line["body"]["notices"]:
        own = line["key"] == f"turn:{effect['call']['turn_id']}"
        about = doubted and notice["args"].get("method") == change.method
        match notice["code"]:
            case "outcome-unknown" if own:
                told.add("unknown")
            case "done-before" if own and change.method in notice["args"]["calls"]:
                told.add("done")
            case "recovered-unclear" if about:
                told.add("unknown")
            case "recovered-done" if about:
                told.add("done")
            case "recovered-not-done" if about:
                told.add("not done")
    return told
