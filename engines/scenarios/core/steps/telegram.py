"""The steps that write to chats of Telegram (S000-51, S000-60, S000-X16)."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from engines.scenarios.core.step_types import (
    AUTHOR,
    DONE,
    AnyStepCall,
    AnyStepType,
    StepCall,
    StepParams,
    StepResult,
    StepType,
    VariableName,
    Words,
    list_named,
    list_part_origins,
)
from engines.scenarios.core.steps.effects import EffectParams, list_refused, submit
from engines.scenarios.core.steps.talking import build_shown_reply
from orchestrator.domain.address import Address
from orchestrator.domain.taint import NOWHERE, Origins, Value
from orchestrator.engines.runs import Option, RunEffect
from state.stored import JsonObject

OUTPUT: Final = "message_id"


class InlineButton(StepParams):
    """A button under a message: it answers the next question of this scenario, or opens an address."""

    text: str = Field(min_length=1, max_length=100, description="What stands on it.")
    callback_data: str = Field("", max_length=200, description="What the variable of the next input gets.")
    url: str = Field("", max_length=2000, description="The address that it opens.")


MOST_BUTTONS: Final = 100
MOST_IN_A_ROW: Final = 8


def _check_count(rows: list[list[InlineButton]]) -> list[list[InlineButton]]:
    """Raises ValueError."""
    if sum(map(len, rows)) > MOST_BUTTONS:
        raise ValueError(f"more than {MOST_BUTTONS} buttons")
    return rows


Row = Annotated[list[InlineButton], Field(max_length=MOST_IN_A_ROW)]


class ChatParams(EffectParams):
    """Which chat."""

    chat_id: Any = Field(None, description="The chat: a number or the key of a person; without it the chat of the run.")
    inline_keyboard: Annotated[list[Row], Field(max_length=MOST_BUTTONS), AfterValidator(_check_count)] = Field(
        default_factory=list, description="Rows of {text, callback_data} or {text, url}."
    )
    output_var: VariableName = Field(OUTPUT, min_length=1, description="The variable that gets the id of the message in another chat.")


class SendMessageParams(ChatParams):
    """What is written."""

    text: Words = Field(min_length=1, description="The text.")


def is_own_chat(call: AnyStepCall) -> bool:
    chat, home = call.params.chat_id, Address.parse(call.ctx.run.home)
    return chat is None or str(chat) == call.ctx.run.home or (home.is_messenger and not home.thread and str(chat) == home.chat)


async def _send_message(call: StepCall[SendMessageParams]) -> StepResult:
    """In the run's own chat the buttons stand under the next question, which they answer."""
    if not is_own_chat(call):
        return await submit_to_chat(call, "telegram.send_message", call.take("text"))
    buttons = [button for row in call.params.inline_keyboard for button in row]
    addresses = "".join(f"\n{button.text}: {button.url}" for button in buttons if button.url)
    await call.ctx.say(build_shown_reply(call, call.params.text, below=addresses), key=call.node)
    origins = list_part_origins(call.filled.get("inline_keyboard"), "callback_data")
    options = tuple(
        Option(label=button.text, value=button.callback_data or button.text, origins=whence)
        for button, whence in zip(buttons, origins, strict=True)
        if not button.url
    )
    if options:
        call.surroundings.keyboard.options = options
    return DONE


async def submit_to_chat(call: AnyStepCall, method: str, content: JsonObject, *, origins: Origins = NOWHERE) -> StepResult:
    """`origins` are those of what the step has read for it."""
    home = Value(Address.parse(call.ctx.run.home).chat, AUTHOR)
    params: JsonObject = {"chat_id": home, **call.take("chat_id", "inline_keyboard"), **content}
    effect = RunEffect(kind="telegram", method=method, params=params)
    name = call.params.output_var
    return await submit(call, effect, lambda outcome: {name: _read_id(outcome.result)}, origins=origins)


def _read_id(result: object) -> object:
    return result.get("message_id") if isinstance(result, Mapping) else None


SEND_MESSAGE: Final = StepType(
    name="telegram_send_message",
    summary="Writes to a chat of Telegram; to other chats than its own a person is asked.",
    params=SendMessageParams,
    perform=_send_message,
    example={"params": {"chat_id": "{manager_chat}", "text": "A new lead: {client}."}},
    list_outputs=list_named("output_var", OUTPUT),
    list_writes=lambda raw: (("telegram", "telegram.send_message"),) if raw.get("chat_id") is not None else (),
    list_targets=list_refused,
    is_action=True,
)
TYPES: Final[tuple[AnyStepType, ...]] = (SEND_MESSAGE,)
