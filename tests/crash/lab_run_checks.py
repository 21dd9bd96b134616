"""What must hold of the lab's runs, whenever and however often their program died. Pure; every finding is one sentence."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from orchestrator.runtime.dispatch import MAX_ATTEMPTS
from state.model.run_state import ENDED
from tests.crash.lab import Evidence
from tests.crash.lab_checks import check_journal
from tests.crash.lab_run_world import RunWorld
from tests.crash.lab_runs import ALL_WAYS, Way
from tests.crash.lab_script import SESSION
from tests.unit.engines.flows.acting_flow import find_question

GIVEN_UP = ", for they were given up"
"""What died in so many attempts of its own is given up, although other inputs of the run went on: its run must then still end as it must."""


def judge_runs(run: Evidence) -> list[str]:
    """Return everything that does not hold of the runs of a way."""
    if not run.finished:
        return [f"no child came to rest: exit codes {list(run.codes)}"]
    way = ALL_WAYS[run.script]
    return [
        *check_journal(run),
        *_check_inputs(run),
        *_check_ends(way, run),
        *_check_nodes(run),
        *_check_model(way, run),
        *_check_writes(way, run),
        *_check_messages(way, run),
        *(f"the person was told of trouble: {line['code']}" for line in run.lines if line["kind"] == "trouble"),
        *(f"the person gave up after {line['seconds']:.0f} s" for line in run.lines if line["kind"] == "gave_up"),
    ]


def judge_many_deaths(run: Evidence) -> list[str]:
    """Return the same, but for inputs that died in as many attempts as they have."""
    return [text for text in judge_runs(run) if run.deaths < MAX_ATTEMPTS or GIVEN_UP not in text]


def _check_inputs(run: Evidence) -> Iterator[str]:
    """Every acknowledged input is there once and done, and every press has its toast."""
    rows: Sequence[Sequence[str]] = run.report["inbox"]
    stored = {source: status for _, source, status in rows}
    if len(stored) != len(rows):
        yield "an input is doubled in the inbox"
    toasts = {line["body"]["callback_id"] for line in run.lines if line["kind"] == "toast"}
    for line in run.lines:
        if line["kind"] != "acknowledged":
            continue
        source = line["source"]
        if (status := stored.get(source, "lost")) != "done":
            yield f"the acknowledged input {source} is {status}{GIVEN_UP if status == 'quarantined' else ''}"
        elif not source.endswith("message") and source != "cancel/list" and source not in toasts:
            yield f"the press {source} was told nothing"
    left = [source for source, status in stored.items() if status == "new"]
    if left:
        yield f"nobody works on the inputs {left}: the wake-up is lost"
    if quarantined := [source for source, status in stored.items() if status == "quarantined"]:
        yield f"the inputs {quarantined} are quarantined{GIVEN_UP}"


def _check_ends(way: Way, run: Evidence) -> Iterator[str]:
    """Each run is there once and has ended as it must, in its stream as in the index, and nothing waits for it any more."""
    index: Sequence[Mapping[str, Any]] = run.report["index"]
    counted = Counter(row["definition"] for row in index)
    for definition, status in way.runs.items():
        if counted[definition] != 1:
            yield f"{counted[definition]} runs of {definition} were started: a run {'is doubled' if counted[definition] else 'is lost'}"
        for row in (one for one in index if one["definition"] == definition and one["status"] != status):
            waits = _read_run(run, row["run_id"])["waits"]
            what = {node: wait["on"] for node, wait in waits.items()}
            end = "ended" if row["status"] in ENDED else f"waits still for {what}, the wake-up is lost:"
            yield f"the run of {definition} {end} {row['status']}, not {status}"
    for row in index:
        if (stands := _read_run(run, row["run_id"])["status"]) != row["status"]:
            yield f"the run of {row['definition']} is {stands}, and the index has it as {row['status']}"
    chat = run.report["streams"].get(f"session:{SESSION}", {"state": {}})
    if listening := chat["state"].get("listening"):
        yield f"the chat waits still for answers to {sorted(listening)}"


def _read_run(run: Evidence, run_id: str) -> Mapping[str, Any]:
    return {"waits": {}, "status": "running", **run.report["streams"][f"run:{run_id}"]["state"]["run"]}


def _check_nodes(run: Evidence) -> Iterator[str]:
    """A node is finished once in each attempt, and woken once for each time it waited."""
    done: Counter[tuple[str, str, int]] = Counter()
    waits: Counter[tuple[str, str]] = Counter()
    wakes: Counter[tuple[str, str]] = Counter()
    for event in run.report["journal"]:
        place = event["stream"], event["data"].get("node", "")
        match event["type"]:
            case "NodeDone":
                done[*place, event["data"]["attempt"]] += 1
            case "RunWaits" if place[1]:
                waits[place] += 1
            case "RunWoken" if place[1]:
                wakes[place] += 1
    yield from (f"the result of node {place} is doubled" for place, count in done.items() if count > 1)
    yield from (
        f"node {place} waited {waits[place]} times and was woken {count} times" for place, count in wakes.items() if count > waits[place]
    )
    statuses = {f"run:{row['run_id']}": row["status"] for row in run.report["index"]}
    for place, count in waits.items():
        if wakes[place] < count and statuses.get(place[0]) == "done":
            yield f"node {place} waited {count} times and was woken {wakes[place]} times"


def _check_model(way: Way, run: Evidence) -> Iterator[str]:
    """No answer that was stored is asked for again, neither by the process that stored it nor by the next one."""
    assert isinstance(run.world, RunWorld)
    if way.asked and (prompts := {prompt for _, _, prompt in run.world.prompts}) != set(way.asked):
        yield f"the model was asked {sorted(prompts)}, not {sorted(way.asked)}"
    known = {line["generation"]: set(line["prompts"]) for line in run.lines if line["kind"] == "known"}
    asked = Counter((generation, prompt) for generation, _, prompt in run.world.prompts)
    shared = any(line.get("shared") for line in run.lines)
    if not shared:
        for (generation, prompt), count in asked.items():
            if prompt in known.get(generation, ()) or count > 1:
                yield f"the model was asked again for «{prompt}»"
        return
    stored = {
        _read_prompt(event): datetime.fromisoformat(event["ts"]).timestamp() for event in run.report["journal"] if _read_prompt(event)
    }
    for prompt, count in Counter(prompt for _, _, prompt in run.world.prompts).items():
        if count > 1 + run.deaths:  # however the clock of the survivor was put forward, each death loses one question on its way
            yield f"the model was asked again for «{prompt}»"
    for _, moment, prompt in run.world.prompts:
        if moment > stored.get(prompt, moment):
            yield f"the model was asked again for «{prompt}»"


def _read_prompt(event: Mapping[str, Any]) -> str:
    is_answer = event["type"] == "NodeDone" and event["data"].get("kind") == "model"
    return find_question(event["data"]["output"]) if is_answer else ""


def _check_writes(way: Way, run: Evidence) -> Iterator[str]:
    """Each consent led to one write, and what was let go to none; the effects stand as the portal does, and no card is left open."""
    for mark, times in {**way.written, **dict.fromkeys(way.at_most_once, 1)}.items():
        written = run.world.written(mark)
        if written > times:
            yield f"{mark} was written {written} times, not {times}; the write is doubled"
        elif written < times and mark in way.written:
            yield f"{mark} was never written, the write is lost"
        own = [row for row in run.report["effects"] if mark in json.dumps(row["call"]["call"], ensure_ascii=False)]
        statuses = Counter(row["status"] for row in own)
        if statuses["succeeded"] != written:
            yield f"{mark} stands as {dict(statuses)}, but was written {written} times"
        if unsettled := [status for status in statuses if status not in {"succeeded", "refused", "denied", "expired", "superseded"}]:
            yield f"{mark} is left as {unsettled}"
    cards = {line["row"]: line["body"] for line in run.lines if line["kind"] == "card"}
    is_shared = any(line.get("shared") for line in run.lines)  # both deliver here, so one may show an older row after a newer one
    last = {cards[row]["confirmation_id"]: cards[row]["status"] for row in (sorted(cards) if is_shared else cards)}
    for number, status in last.items():
        if status in {"requested", "approved", "started"}:
            yield f"the card {number} is left on the screen as {status}"


def _check_messages(way: Way, run: Evidence) -> Iterator[str]:
    """Each text is said so often, in messages of their own, and none is sent twice."""
    rows = {line["row"]: line for line in run.lines if line["kind"] == "reply"}
    said: Counter[str] = Counter()
    for line in rows.values():
        said["".join(part.get("text", "") for part in line["body"]["parts"])] += 1
    for text, times in way.said.items():
        if said[text] > times:
            yield f"«{text}» was said {said[text]} times, not {times}; a message is doubled"
        elif said[text] < times:
            yield f"«{text}» was said {said[text]} times, a message is lost"
