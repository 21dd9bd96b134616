"""The steps that write to chats of Telegram (S000-51, S000-60, S000-X16).

A message to the chat in which the run works is a message of the run; one to any other chat is an effect that the gate decides.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from orchestrator.definitions.kinds import Write
from orchestrator.domain.address import Address
from orchestrator.domain.errors import FileUnavailable
from orchestrator.domain.outputs import SentFile, build_reply
from orchestrator.domain.taint import FOREIGN, Value, join_origins, split_values
from orchestrator.engines.runs import Option, RunEffect
from orchestrator.engines.scenarios.step_types import (
    AUTHOR,
    DONE,
    AnyStepCall,
    AnyStepType,
    Raw,
    StepCall,
    StepParams,
    StepResult,
    StepType,
    VariableName,
    Words,
    list_named,
    list_part_origins,
)
from orchestrator.engines.scenarios.steps.effects import EffectParams, list_refused, submit
from state.stored import JsonObject

_OUTPUT: Final = "message_id"


class InlineButton(StepParams):
    """A button under a message: it answers the next question of this scenario, or opens an address."""

    text: str = Field(min_length=1, max_length=100, description="What stands on it.")
    callback_data: str = Field("", max_length=200, description="What the variable of the next input gets.")
    url: str = Field("", max_length=2000, description="The address that it opens.")


MOST_BUTTONS: Final = 100
MOST_IN_A_ROW: Final = 8
"""How many buttons a message of Telegram has at most, and how many of them a row."""


def _check_count(rows: list[list[InlineButton]]) -> list[list[InlineButton]]:
    """Return the rows. Raises ValueError if they have too many buttons together."""
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
    output_var: VariableName = Field(_OUTPUT, min_length=1, description="The variable that gets the id of the message in another chat.")


class SendMessageParams(ChatParams):
    """What is written."""

    text: Words = Field(min_length=1, description="The text.")


class SendFileParams(ChatParams):
    """Which file is sent."""

    path: str = Field("", description="The file, in the folder of files.")
    file: Any = Field(None, description="In place of path: a variable with a photo or document that the person sent to this scenario.")
    caption: Words = Field("", description="The text below it.")


def is_own_chat(call: AnyStepCall) -> bool:
    """Return whether the step writes to the chat in which the run works."""
    chat, home = call.params.chat_id, Address.parse(call.ctx.run.home)
    return chat is None or str(chat) == call.ctx.run.home or (home.is_messenger and not home.thread and str(chat) == home.chat)


async def _send_message(call: StepCall[SendMessageParams]) -> StepResult:
    """Write the text. In the run's own chat its buttons stand under the next question, which they answer."""
    if not is_own_chat(call):
        return await _submit(call, "telegram.send_message", "text")
    buttons = [button for row in call.params.inline_keyboard for button in row]
    addresses = "".join(f"\n{one.text}: {one.url}" for one in buttons if one.url)
    await call.ctx.say(build_reply(text=call.params.text + addresses), key=call.node)
    origins = list_part_origins(call.filled.get("inline_keyboard"), "callback_data")
    options = tuple(
        Option(label=one.text, value=one.callback_data or one.text, origins=whence)
        for one, whence in zip(buttons, origins, strict=True)
        if not one.url
    )
    if options:
        call.surroundings.keyboard.options = options
    return DONE


async def _send_file(call: StepCall[SendFileParams], kind: Literal["photo", "document"]) -> StepResult:
    """Send the file: to the run's own chat as a message, to another one as an effect, which takes files of the folder only."""
    params = call.params
    if bool(params.path) == (params.file is not None):
        raise call.fail("scenario-file-which", "exactly one of path and file is needed")
    if not is_own_chat(call):
        if not params.path:
            raise call.fail("scenario-file-own", "a file that was sent goes to the scenario's own chat only")
        return await _submit(call, f"telegram.send_{kind}", "path", "caption")
    sent = params.file if isinstance(params.file, Mapping) else {}
    name = str(sent.get("name") or "") or params.path.rpartition("/")[2] or kind
    file = SentFile(kind=kind, name=name, caption=params.caption)
    await call.ctx.say_file(file, partial(_load_file, call), key=call.node)
    return DONE


async def _load_file(call: StepCall[SendFileParams]) -> bytes:
    """Return the content of the file that the step names. Raises RunFailed."""
    params = call.params
    if params.file is not None:
        content: bytes = (await call.ctx.load_file(Value(params.file, call.find_origins("file")))).data
        return content
    if join_origins(split_values(call.filled.get("path"))[1]) & FOREIGN:  # text of strangers must not choose what is shown
        raise call.fail("scenario-value-unfit", "path comes from text of strangers", name="path")
    read = call.surroundings.read_file
    why: object = "there is no folder of files"
    if read is not None:
        try:
            return await read(params.path)
        except FileUnavailable as error:
            why = error
    raise call.fail("scenario-file-unread", f"{params.path}: {why}", name=params.path)


async def _submit(call: AnyStepCall, method: str, *names: str) -> StepResult:
    home = Value(Address.parse(call.ctx.run.home).chat, AUTHOR)
    params: JsonObject = {"chat_id": home, **call.take("chat_id", "inline_keyboard", *names)}
    effect = RunEffect(kind="telegram", method=method, params=params)
    name = call.params.output_var
    return await submit(call, effect, lambda outcome: {name: _read_id(outcome.result)})


def _read_id(result: object) -> object:
    return result.get("message_id") if isinstance(result, Mapping) else None


SEND_MESSAGE: Final = StepType(
    name="telegram_send_message",
    summary="Writes to a chat of Telegram; to other chats than its own a person is asked.",
    params=SendMessageParams,
    perform=_send_message,
    example={"params": {"chat_id": "{manager_chat}", "text": "A new lead: {client}."}},
    list_outputs=list_named("output_var", _OUTPUT),
    list_writes=lambda raw: (("telegram", "telegram.send_message"),) if raw.get("chat_id") is not None else (),
    list_targets=list_refused,
    is_action=True,
)
_FILES: Final[Mapping[Literal["photo", "document"], str]] = {
    "photo": "Sends a photo to a chat of Telegram; to other chats than its own a person is asked.",
    "document": "Sends a document to a chat of Telegram; to other chats than its own a person is asked.",
}


def _list_file_writes(method: str, raw: Raw) -> Sequence[Write]:
    return (("telegram", method),) if raw.get("chat_id") is not None else ()


TYPES: Final[tuple[AnyStepType, ...]] = (
    SEND_MESSAGE,
    *(
        StepType(
            name=f"telegram_send_{kind}",
            summary=summary,
            params=SendFileParams,
            perform=partial(_send_file, kind=kind),
            example={"params": {"path": f"offers/{kind}.pdf" if kind == "document" else f"offers/{kind}.png", "caption": "For {client}"}},
            list_outputs=list_named("output_var", _OUTPUT),
            list_writes=partial(_list_file_writes, f"telegram.send_{kind}"),
            list_targets=list_refused,
            is_action=True,
        )
        for kind, summary in _FILES.items()
    ),
)
