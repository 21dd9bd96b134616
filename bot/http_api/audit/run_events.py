"""Converts the events of a run in the journal (its nodes, waits and end) into the events that the API shows. Pure: no input or output.

A run is an execution of a scenario, flow or workflow. What people said and what nodes gave is shown only to callers who may read it.
"""

import json
from collections.abc import Mapping
from typing import Final

from bitrix.masking import mask_value
from bot.http_api.audit.event_values import Convert, EventFields, EventReader
from bot.i18n.translate import Translator
from orchestrator.domain.outputs import Notice
from orchestrator.reports.reading.journal_reader import bind_reader
from state.canonical import dumps
from state.events import runs
from state.journal.store import StoredEvent

LONGEST_VALUE: Final = 2000
"""How many characters of a value an event shows."""


def format_value(value: object, *, limit: int = LONGEST_VALUE, is_indented: bool = False) -> str:
    """Return a value of a run as text: a text as it is, anything else as JSON; secrets are hidden, and a long one is cut."""
    shown = mask_value(value)
    if is_indented and isinstance(shown, dict | list):
        text = json.dumps(shown, ensure_ascii=False, indent=2)
    else:
        text = "" if shown is None else shown if isinstance(shown, str) else dumps(shown)
    return text if len(text) <= limit else f"{text[:limit]}…"


def _to_start(eyes: EventReader, run_started: runs.RunStarted, _event: StoredEvent) -> EventFields:
    by = eyes.find_person(str(run_started.actor.get("key", "")), str(run_started.actor.get("name", "")))
    return {"type": "run_started", "by": by, "state": "running", "text": f"{run_started.engine}: {run_started.definition}"}


def _to_done(eyes: EventReader, node_done: runs.NodeDone, _event: StoredEvent) -> EventFields:
    text = format_value(node_done.output) if eyes.shows_words else ""
    return {"type": "run_node", "node": node_done.node, "state": "done", "text": text}


def _to_failure(eyes: EventReader, node_failed: runs.NodeFailed, _event: StoredEvent) -> EventFields:
    text = format_value(node_failed.detail) if eyes.shows_words else ""
    return {"type": "run_node", "node": node_failed.node, "state": "failed", "code": node_failed.code, "text": text}


def _to_wait(eyes: EventReader, run_waits: runs.RunWaits, _event: StoredEvent) -> EventFields:
    if run_waits.node == runs.WHOLE:
        return {"type": "run_waits", "state": "pause", "by": eyes.find_person(run_waits.by)}
    asked: dict[str, object] = {}
    if run_waits.on == "input":
        asked = {"question": run_waits.waits_for, "text": format_question(run_waits, eyes.tr), "options": list_options(run_waits, eyes.tr)}
    shown = asked if eyes.shows_words else {"question": asked.get("question", "")}
    return {"type": "run_waits", "node": run_waits.node, "state": run_waits.on, **shown}


def format_question(run_waits: runs.RunWaits, tr: Translator) -> str:
    """Return the question of a waiting node, in the caller's language if it is a sentence of the program."""
    return tr.translate_notice(Notice.model_validate(run_waits.notice)) if run_waits.notice else run_waits.question


def list_options(run_waits: runs.RunWaits, tr: Translator) -> list[str]:
    """Return the texts of the buttons under the question of a waiting node, those of the program in the caller's language."""
    return [*run_waits.options, *(tr.translate(code) for code in run_waits.controls)]


def _to_wake(eyes: EventReader, run_woken: runs.RunWoken, _event: StoredEvent) -> EventFields:
    by = eyes.find_person(run_woken.by) if ":" in run_woken.by else None
    text = format_value(run_woken.value) if eyes.shows_words else ""
    return {"type": "run_woken", "node": run_woken.node, "state": "answer" if by is not None else run_woken.by, "by": by, "text": text}


def _to_end(eyes: EventReader, said: runs.RunFinished, _event: StoredEvent) -> EventFields:
    text = format_value(said.result) if eyes.shows_words else ""
    return {"type": "run_finished", "state": said.status, "code": said.code, "by": eyes.find_person(said.by), "text": text}


CONVERTERS: Final[Mapping[str, Convert]] = {
    **bind_reader(runs.RunStarted, _to_start),
    **bind_reader(runs.NodeDone, _to_done),
    **bind_reader(runs.NodeFailed, _to_failure),
    **bind_reader(runs.RunWaits, _to_wait),
    **bind_reader(runs.RunWoken, _to_wake),
    **bind_reader(runs.RunFinished, _to_end),
}
