"""What must hold of an edit, an undo, a lead's decision, a forwarded lead and a second request, beyond what `lab_checks` asks of every run. Pure."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.crash.lab import Evidence
from tests.crash.lab_flows import OWN, Flow, Told
from tests.crash.lab_go_on import FLOWS

JUDGED_HERE = frozenset({"value", "value-now", "reason"})
"""Inputs that are answered by a card, a question or a sentence of their own: none of them may be lost without one of these demands failing."""
_SETTLED = frozenset({"executed", "refused", "denied", "superseded"})
_BACK = ("undo_until", "undone_at")


def demands(run: Evidence) -> Iterator[str]:
    """Everything that does not hold of one of the ways in `lab_flows`; nothing of other scripts."""
    flow = FLOWS.get(run.script)
    if flow is None:
        return
    yield from _presses(run)
    yield from _parts(run)
    yield from _writes(flow, run)
    yield from _cards(run)
    yield from _offers(run)
    for told in flow.told:
        yield from _said(told, flow, run)


def list_cards(line: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The cards that a line shows: the one, or those of a whole plan."""
    if line["kind"] != "card":
        return ()
    members: Sequence[Mapping[str, Any]] = line["body"].get("members") or [line["body"]]
    return members


def _presses(run: Evidence) -> Iterator[str]:
    """A press has one answer, and one more only where the program died over it; what the wire brought twice is the same row."""
    answers = {line["row"]: line["body"] for line in run.lines if line["kind"] == "toast"}
    for source, count in Counter(body["callback_id"] for body in answers.values()).items():
        if count > 1 + run.deaths:
            codes = [body["notice"]["code"] for body in answers.values() if body["callback_id"] == source]
            yield f"the press {source} was answered {count} times: {codes}"


def _parts(run: Evidence) -> Iterator[str]:
    """A turn that waits for cards goes on once for each time it waited, and each of its parts ends once."""
    events = [(event["type"], event["data"]) for event in run.report["journal"]]
    ends = [said for kind, said in events if kind == "TurnFinished"]
    waited = Counter(said["turn_id"] for said in ends if said.get("goes_on"))
    ended, resumed = Counter(said["turn_id"] for said in ends), Counter(said["turn_id"] for kind, said in events if kind == "TurnResumed")
    decided = _decided_turns(run)
    for turn, times in ended.items():
        if times != resumed[turn] + 1:
            yield f"the turn {turn} went on {resumed[turn]} times and ended {times} times"
    for turn, times in waited.items():
        if resumed[turn] > times:
            yield f"the turn {turn} waited {times} times and went on {resumed[turn]} times"
        if resumed[turn] < times and turn in decided:
            yield f"the turn {turn} waited {times} times and went on {resumed[turn]} times: what is left of it is lost"


def _decided_turns(run: Evidence) -> set[str]:
    """The turns of which a person has decided all cards, and of which it is known what came of that."""
    entries = run.report["streams"][f"session:{OWN}"]["state"]["agent"]["confirmations"].values()
    open_ = {entry["turn_id"] for entry in entries if entry["status"] not in _SETTLED}
    return {entry["turn_id"] for entry in entries} - open_


def _writes(flow: Flow, run: Evidence) -> Iterator[str]:
    """A consent leads to one write whichever card it was given to, and what was to be restored stands there again."""
    times = {mark: run.world.written(mark) for mark in {*flow.written, *flow.one_of}}
    for mark in flow.never:
        if run.world.written(mark):
            yield f"{mark} was let go, and was written"
    together = sum(times[mark] for mark in flow.one_of)
    if together > 1:
        yield f"one of {list(flow.one_of)} was wanted, and together they were written {together} times"
    for mark, written in times.items():
        rows = _effects(mark, run)
        sure = sum(row["status"] == "succeeded" for row in rows)
        open_ = sum(row["status"] == "unknown" for row in rows)
        if not sure <= written <= sure + open_:
            yield f"{mark} stands as {[row['status'] for row in rows]}, but was written {written} times"
    number, sum_ = flow.record
    if number and _regular(flow, run) and (stands := str(run.world.portal.records["deal", number]["OPPORTUNITY"])) != sum_:
        yield f"the deal {number} stands at {stands}, not at {sum_}"


def _effects(mark: str, run: Evidence) -> list[Mapping[str, Any]]:
    return [row for row in run.report["effects"] if mark in json.dumps(row["call"]["call"], ensure_ascii=False)]


def _regular(flow: Flow, run: Evidence) -> bool:
    """Whether everything that was wanted was carried out, and no answer of the portal was kept back: then what comes after is another way."""
    doubted = set(run.report["doubted"]) if run.world.trouble is not None else set()
    done = [{row["effect_id"] for row in _effects(mark, run) if row["status"] == "succeeded"} for mark in flow.written]
    return all(ids - doubted for ids in done)


def _cards(run: Evidence) -> Iterator[str]:
    """At the end nothing waits, each card stands in each chat as the journal has it, and what can be taken back says so."""
    entries = run.report["streams"][f"session:{OWN}"]["state"]["agent"]["confirmations"]
    last = {(line["session"], card["confirmation_id"]): card for line in run.lines for card in list_cards(line)}
    for number, entry in entries.items():
        if entry["status"] == "requested":
            yield f"the card {number} waits still"
        if (OWN, number) not in last and entry["status"] != "superseded":
            yield f"the card {number} was never told"
    for (chat, number), body in last.items():
        if body["status"] != entries[number]["status"]:
            yield f"the card {number} is left in {chat} as {body['status']}, and stands as {entries[number]['status']}"
        if body["status"] == "executed" and _reversible(body) and not any(body.get(name) for name in _BACK):
            yield f"the card {number} in {chat} has lost its way back"
        if _taken_back(entries[number], entries) and not body.get("undone_at"):
            yield f"the card {number} in {chat} does not say that it was taken back"


def _offers(run: Evidence) -> Iterator[str]:
    """What was done without a card can be taken back from some message."""
    offered = {effect for line in run.lines if line["kind"] == "reply" for effect in line["body"]["undo"]}
    for row in run.report["effects"]:
        free = row["status"] == "succeeded" and not row["call"]["confirmation_id"] and row["call"]["call"]["method"] == "crm.deal.update"
        if free and row["effect_id"] not in offered:
            yield f"{row['effect_id']} was done, and nothing takes it back"


def _taken_back(entry: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]]) -> bool:
    wanted = f"undo:{entry['effect_id']}"
    return any(one["status"] == "executed" and str(one.get("slot") or "").startswith(wanted) for one in entries.values())


def _reversible(body: Mapping[str, Any]) -> bool:
    return bool(body["method"] == "crm.deal.update" and not str(body.get("slot") or "").startswith("undo:"))


def _said(told: Told, flow: Flow, run: Evidence) -> Iterator[str]:
    """The sentence was said so often, and where something went wrong on the way at least no oftener."""
    said = _sentences(told.codes, told.chat, run)
    if len(said) > told.times:
        yield f"{told.chat} was told {len(said)} times: {said}; a message is doubled"
    if len(said) < told.times and _regular(flow, run):
        yield f"{told.chat} was told nothing of {list(told.codes)}"


def _sentences(codes: Sequence[str], chat: str, run: Evidence) -> list[str]:
    rows = {line["row"]: line for line in run.lines if line["kind"] == "reply" and line["session"] == chat}
    return [notice["code"] for line in rows.values() for notice in line["body"]["notices"] if notice["code"] in codes]
