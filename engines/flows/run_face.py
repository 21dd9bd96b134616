from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import ValidationError

from bot.console.runs.history import StepState
from bot.console.runs.run_face import Launch, RunFace
from bot.i18n.translate import Locale, Translator
from engines.flows.core.definition import Flow
from engines.flows.core.telling import tell_result
from engines.flows.http.run_events import FlowHistory
from engines.flows.kind_face import BETWEEN
from orchestrator.charts.chart import Box
from state.journal.store import StoredEvent

_STATES: Final[Mapping[str, StepState]] = {
    "WAITING_APPROVAL": "waiting",
    "RUNNING": "running",
    "COMPLETED": "done",
    "FAILED": "failed",
    "SKIPPED": "skipped",
    "CANCELLED": "skipped",
}


def read_launch(document: object) -> Launch:
    flow = read_flow(document)
    return Launch(parameters=tuple(flow.launch_parameters) if flow is not None else ())


def read_flow(document: object) -> Flow | None:
    """None for one that cannot be read any more."""
    try:
        return Flow.model_validate(document)
    except ValidationError:
        return None


@dataclass
class FlowFollower:
    flow: Flow
    history: FlowHistory

    def add(self, event: StoredEvent) -> None:
        self.history.add(event)

    def find_state(self, step: str) -> StepState | None:
        return _STATES.get(self.history.find_status(step))

    def tell_result(self, result: Mapping[str, object], *, today: str, locale: Locale) -> Sequence[tuple[str, str]]:
        """(title, text)."""
        return tell_result(self.flow, result, self.history.list_answers(), today=today, locale=locale)


def follow(document: object) -> FlowFollower | None:
    flow = read_flow(document)
    return FlowFollower(flow, FlowHistory(flow)) if flow is not None else None


def say_box(_tr: Translator, _document: object, _place: int, box: Box) -> Box | None:
    """A step by its name, with its agent where that is known; what has a word by that."""
    name, _, title = box.title.partition(BETWEEN)
    text = box.text if any(sign.isalpha() for sign in box.text) else ""
    return replace(box, title=title or name, text=text) if box.key else None


RUN_FACE: Final = RunFace(takes_parameters=True, read_launch=read_launch, follow=follow, say_box=say_box)
