"""Lists the calls of the model that have no answer in the journal: they are under way, or a crash or a stop has ended them."""

from dataclasses import dataclass
from typing import Final

from orchestrator.reports.conversations import read_conversation
from state.events.conversation import ModelAsked
from state.journal.store import Store, StoredEvent
from state.stored import JsonObject

_ENDS: Final = ("ModelAnswered", "ModelFailed", "NodeDone", "NodeFailed")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenModelCall:
    """One call without an answer; its `tokens` are an estimate, which counts in the budget of `month`."""

    place: str
    """The node of the run, or the iteration of a turn."""
    asked_at: str
    model: str
    tokens: int
    month: int
    asked_again: bool = False
    """Whether the same place was asked again later, so that this call is certainly lost."""

    def to_json(self) -> JsonObject:
        """Return the call as JSON data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def list_open_model_calls(store: Store, stream: str) -> list[OpenModelCall]:
    """Return the calls in this stream that have no answer, the oldest first. Raises StoreError."""
    asked: dict[str, tuple[StoredEvent, ModelAsked]] = {}
    last: dict[str, str] = {}
    for event in read_conversation(store, stream, types=("ModelAsked", *_ENDS)):
        if event.type == "ModelAsked":
            call = ModelAsked.from_data(event.data)
            asked[call.reservation] = event, call
            last[_format_place(call)] = call.reservation
        else:
            asked.pop(str(event.data.get("reservation", "")), None)
    return [
        OpenModelCall(
            place=_format_place(call),
            asked_at=event.ts,
            model=call.model,
            tokens=call.prompt_tokens + call.completion_tokens,
            month=call.month,
            asked_again=last[_format_place(call)] != reservation,
        )
        for reservation, (event, call) in asked.items()
    ]


def _format_place(call: ModelAsked) -> str:
    return call.node or f"{call.turn_id}, iteration {call.iteration}"
