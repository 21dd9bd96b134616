"""The events of a run as the API shows them; what people said and nodes gave only to callers who may read it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import Field

from bitrix.masking import mask_value
from bot.http_api.approvals.card_models import ApiModel, Person
from bot.i18n.translate import Translator
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Action, Notice
from orchestrator.reports.reading.journal_reader import bind_reader
from orchestrator.runs.questions import BUTTON
from state.canonical import dumps
from state.events import runs
from state.journal.store import StoredEvent

Present = Callable[[Actor], Actor | None]


@dataclass(frozen=True, kw_only=True)
class EventReader:
    tr: Translator
    refresh_actor: Present
    shows_words: bool = True
    """What people said to a run and what its nodes gave."""

    def find_person(self, key: str, name: str = "") -> Person | None:
        """None for an empty key; `name` replaces the present name."""
        if not key:
            return None
        known = self.refresh_actor(Actor(key=key, name=""))
        return Person(id=key, name=name or (known.name if known else ""))


EventFields = Mapping[str, object] | None
Convert = Callable[[EventReader, StoredEvent], EventFields]


class Button(ApiModel):
    """A button under a message of a run; the caller presses it by sending its `token` as the next message."""

    label: str
    token: str = Field(description="Send it as `message` to /chat to press the button.")


def to_buttons(actions: Sequence[Action], tr: Translator) -> list[Button]:
    """Those that can be pressed over HTTP: the buttons of runs."""
    usable = [action for action in actions if action.words and action.words[0] == BUTTON]
    return [Button(label=tr.translate_notice(action.label), token=":".join(action.words)) for action in usable]


LONGEST_VALUE: Final = 2000
"""Characters."""


def format_value(value: object, *, limit: int = LONGEST_VALUE, is_indented: bool = False) -> str:
    """A text as it is, anything else as JSON; secrets are hidden, long ones cut."""
    masked = mask_value(value)
    if is_indented and isinstance(masked, dict | list):
        text = json.dumps(masked, ensure_ascii=False, indent=2)
    else:
        text = "" if masked is None else masked if isinstance(masked, str) else dumps(masked)
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
    question: dict[str, object] = {}
    if run_waits.on == "input":
        question = {
            "question": run_waits.waits_for,
            "text": format_question(run_waits, eyes.tr),
            "options": list_options(run_waits, eyes.tr),
        }
    visible = question if eyes.shows_words else {"question": question.get("question", "")}
    return {"type": "run_waits", "node": run_waits.node, "state": run_waits.on, **visible}


def format_question(run_waits: runs.RunWaits, tr: Translator) -> str:
    """In the caller's language if it is a sentence of the program."""
    return tr.translate_notice(Notice.model_validate(run_waits.notice)) if run_waits.notice else run_waits.question


def list_options(run_waits: runs.RunWaits, tr: Translator) -> list[str]:
    """Those of the program in the caller's language."""
    return [*run_waits.options, *(tr.translate(code) for code in run_waits.controls)]


def _to_wake(eyes: EventReader, run_woken: runs.RunWoken, _event: StoredEvent) -> EventFields:
    by = eyes.find_person(run_woken.by) if ":" in run_woken.by else None
    text = format_value(run_woken.value) if eyes.shows_words else ""
    return {"type": "run_woken", "node": run_woken.node, "state": "answer" if by is not None else run_woken.by, "by": by, "text": text}


def _to_end(eyes: EventReader, finished: runs.RunFinished, _event: StoredEvent) -> EventFields:
    text = format_value(finished.result) if eyes.shows_words else ""
    return {"type": "run_finished", "state": finished.status, "code": finished.code, "by": eyes.find_person(finished.by), "text": text}


CONVERTERS: Final[Mapping[str, Convert]] = {
    **bind_reader(runs.RunStarted, _to_start),
    **bind_reader(runs.NodeDone, _to_done),
    **bind_reader(runs.NodeFailed, _to_failure),
    **bind_reader(runs.RunWaits, _to_wait),
    **bind_reader(runs.RunWoken, _to_wake),
    **bind_reader(runs.RunFinished, _to_end),
}
