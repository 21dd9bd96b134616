"""What the model is told of the steps of its plan."""

from dataclasses import dataclass, field
from typing import Final

from engines.crm_agent.core.setbacks import WITHDRAWN
from orchestrator.domain.outputs import Notice
from orchestrator.engines.crm_agent.blocks import Step
from state.stored import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationLine:
    """What the model is told of one step: a status, and in `told` details such as the `rows` read."""

    status: str
    told: JsonObject = field(default_factory=dict)
    notice: Notice | None = None
    confirmation_id: str = ""
    done_keys: frozenset[str] | None = None
    """None for all."""

    @property
    def is_denied(self) -> bool:
        return str(self.told.get("text") or "").startswith("denied by ")

    @property
    def is_settled(self) -> bool:
        """Done, or nobody wants it any more."""
        return self.status == "ok" or self.is_denied or (self.notice is not None and self.notice.code in WITHDRAWN)


_OF_FORM: Final = frozenset({"select", "order", "start"})


def format_line(number: int, step: Step, line: ObservationLine, taken: JsonObject) -> JsonObject:
    """With what its days and names were taken for, so that the answer can name these.

    Rows say themselves of which record they are; without any, the parameters as sent do.
    """
    is_empty = line.told.get("total") == 0 and "rows" not in line.told and "." in step.method
    asked = {name: value for name, value in step.params.items() if name not in _OF_FORM} if is_empty else {}
    sent = {"sent": asked} if asked else {}
    return {"step": number, "method": step.method, "status": line.status, **line.told, **sent, **taken}


def build_skipped_line() -> ObservationLine:
    return ObservationLine(status="not_begun", told={"text": "the plan stopped before this step"})
