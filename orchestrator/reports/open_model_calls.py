from dataclasses import dataclass
from typing import Final

from orchestrator.reports.conversations import read_conversation
from state.events.conversation import ModelAsked
from state.journal.store import Store, StoredEvent
from state.stored import JsonObject

_ENDS: Final = ("ModelAnswered", "ModelFailed", "NodeDone", "NodeFailed")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenModelCall:
    """`tokens` are an estimate, which counts in the budget of `month`."""

    place: str
    """The node of a run, or the iteration of a turn."""
    asked_at: str
    model: str
    tokens: int
    month: int
    asked_again: bool = False
    """The same place was asked again later, so this call is certainly lost."""

    def to_json(self) -> JsonObject:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def list_open_model_calls(store: Store, stream: str) -> list[OpenModelCall]:
    """The oldest first. Raises StoreError."""
    open_calls: dict[str, tuple[StoredEvent, ModelAsked]] = {}
    last: dict[str, str] = {}
    for event in read_conversation(store, stream, types=("ModelAsked", *_ENDS)):
        if event.type == "ModelAsked":
            call = ModelAsked.from_data(event.data)
            open_calls[call.reservation] = event, call
            last[_format_place(call)] = call.reservation
        else:
            open_calls.pop(str(event.data.get("reservation", "")), None)
    return [
        OpenModelCall(
            place=_format_place(call),
            asked_at=event.ts,
            model=call.model,
            tokens=call.prompt_tokens + call.completion_tokens,
            month=call.month,
            asked_again=last[_format_place(call)] != reservation,
        )
        for reservation, (event, call) in open_calls.items()
    ]


def _format_place(call: ModelAsked) -> str:
    return call.node or f"{call.turn_id}, iteration {call.iteration}"
