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


def _to_start(eyes: EventReader, said: runs.RunStarted, _event: StoredEvent) -> EventFields:
    by = eyes.find_person(str(said.actor.get("key", "")), str(said.actor.get("name", "")))
    return {"type": "run_started", "by": by, "state": "running", "text": f"{said.engine}: {said.definition}"}


def _to_done(eyes: EventReader, said: runs.NodeDone, _event: StoredEvent) -> EventFields:
    text = format_value(said.output) if eyes.shows_words else ""
    return {"type": "run_node", "node": said.node, "state": "done", "text": text}


def _to_failure(eyes: EventReader, said: runs.NodeFailed, _event: StoredEvent) -> EventFields:
    text = format_value(said.detail) if eyes.shows_words else ""
    return {"type": "run_node", "node": said.node, "state": "failed", "code": said.code, "text": text}


def _to_wait(eyes: EventReader, said: runs.RunWaits, _event: StoredEvent) -> EventFields:
    if said.node == runs.WHOLE:
        return {"type": "run_waits", "state": "pause", "by": eyes.find_person(said.by)}
    asked: dict[str, object] = {}
    if said.on == "input":
        asked = {"question": said.waits_for, "text": format_question(said, eyes.tr), "options": list_options(said, eyes.tr)}
    shown = asked if eyes.shows_words else {"question": asked.get("question", "")}
    return {"type": "run_waits", "node": said.node, "state": said.on, **shown}


def format_question(said: runs.RunWaits, tr: Translator) -> str:
    """Return the question of a waiting node, in the caller's language if it is a sentence of the program."""
    return tr.translate_notice(Notice.model_validate(said.notice)) if said.notice else said.question


def list_options(said: runs.RunWaits, tr: Translator) -> list[str]:
    """Return the texts of the buttons under the question of a waiting node, those of the program in the caller's language."""
    return [*said.options, *(tr.translate(code) for code in said.controls)]


def _to_wake(eyes: EventReader, said: runs.RunWoken, _event: StoredEvent) -> EventFields:
    by = eyes.find_person(said.by) if ":" in said.by else None
    text = format_value(said.value) if eyes.shows_words else ""
    return {"type": "run_woken", "node": said.node, "state": "answer" if by is not None else said.by, "by": by, "text": text}


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
