"""The steps that write to chats of Telegram, and send photos and documents there (S000-51, S000-60, S000-X16).

A file of a host is fetched once, so that what a card speaks of cannot become another file. No address may carry out what strangers or a
model say: only values of the author and the person at work may stand in it, for customers those of the author alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, Field

from engines.scenarios.core.step_types import (
    AUTHOR,
    DONE,
    AnyStepCall,
    AnyStepType,
    Raw,
    StepCall,
    StepMistake,
    StepParams,
    StepResult,
    StepType,
    VariableName,
    Words,
    is_later,
    list_named,
    list_part_origins,
)
from engines.scenarios.core.steps.effects import EffectParams, list_refused, submit
from engines.scenarios.core.steps.talking import build_shown_reply
from orchestrator.definitions.kinds import Write
from orchestrator.domain.address import Address
from orchestrator.domain.errors import FileUnavailable
from orchestrator.domain.file_path import PathRefused, parse_path
from orchestrator.domain.http_address import LONGEST, OddAddress, parse_address
from orchestrator.domain.outputs import Notice, SentFile, build_reply
from orchestrator.domain.taint import FOREIGN, NOWHERE, Origins, Value, join_origins, split_values
from orchestrator.engines.runs import LARGEST_FILES, MEGABYTE, Option, RunEffect
from orchestrator.engines.shared.file_access import Downloaded
from orchestrator.language.text import to_visible_line
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
    spoken=frozenset({"text"}),
    list_outputs=list_named("output_var", OUTPUT),
    list_writes=lambda raw: (("telegram", "telegram.send_message"),) if raw.get("chat_id") is not None else (),
    list_targets=list_refused,
    is_action=True,
)


Kind = Literal["photo", "document"]
_SOURCES: Final = ("path", "file", "url")
_WEB: Final[Origins] = frozenset({"web"})
_FOR_PEOPLE: Final[Origins] = frozenset({"definition", "person"})
_FOR_CUSTOMERS: Final[Origins] = frozenset({"definition"})
"""An address tells its host something."""
MOST_FETCHED: Final = 200
"""Megabytes of one run; a file that is begun below that still comes whole."""
_LONGEST_NAME: Final = 120
_FILE: Final = "file"
"""Ends the name of the node that fetches; recordings know it."""
_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")
_PICTURES: Final = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a")
_WEBP: Final = re.compile(rb"RIFF....WEBP", re.DOTALL)
_PAGE: Final = re.compile(rb"\s*<(!doctype\s+html|html)\b", re.IGNORECASE)
_PAGE_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
_PAGE_ENDINGS: Final = (".html", ".htm", ".xhtml")


class SendFileParams(ChatParams):
    """Which file is sent."""

    path: str = Field("", description="The file, in the folder of files.")
    file: Any = Field(None, description="In place of path: a variable with a photo or document that the person sent to this scenario.")
    url: str = Field("", max_length=LONGEST, description="In place of path: its address, at a host that the policy allows.")
    caption: Words = Field("", description="The text below it.")


async def _send_file(call: StepCall[SendFileParams], kind: Kind) -> StepResult:
    params = call.params
    if [bool(params.path), params.file is not None, bool(params.url)].count(True) != 1:
        raise call.fail("scenario-file-which", "exactly one of path, file and url is needed")
    if params.url:
        return await _send_fetched(call, kind)
    sent = params.file if isinstance(params.file, Mapping) else {}
    name = str(sent.get("name") or "") or params.path.rpartition("/")[2] or kind
    if is_own_chat(call):
        file = SentFile(kind=kind, name=name, caption=params.caption)
        await call.ctx.say_file(file, partial(_load_file, call), key=call.node)
        return DONE
    content = call.take("path", "caption")
    if params.file is not None:
        file_fields = {"digest": str(sent.get("digest") or ""), "name": name}
        content = {**call.take("caption"), "file": Value(file_fields, call.find_origins("file"))}
    return await submit_to_chat(call, f"telegram.send_{kind}", content)


async def _load_file(call: StepCall[SendFileParams]) -> bytes:
    """Raises RunFailed."""
    params = call.params
    if params.file is not None:
        return await _load_kept(call, Value(params.file, call.find_origins("file")))
    if join_origins(split_values(call.filled.get("path"))[1]) & FOREIGN:  # text of strangers must not choose what is shown
        raise call.fail("scenario-value-unfit", "path comes from text of strangers", name="path")
    read = call.surroundings.read_file
    why: object = "there is no folder of files"
    if read is not None:
        try:
            return await read(params.path)
        except FileUnavailable as error:
            why = error
    raise call.fail("scenario-file-unread", str(why), name=params.path)


async def _load_kept(call: StepCall[SendFileParams], file_value: Value) -> bytes:
    content: bytes = (await call.ctx.load_file(file_value)).data
    return content


async def _send_fetched(call: StepCall[SendFileParams], kind: Kind) -> StepResult:
    """Without a file the run goes the way of a refusal, or fails."""
    params = call.params
    name, host = _name_file(params.url, kind), _find_host(params.url)
    fetched_file = await _fetch(call, kind, name)
    if "problem" in fetched_file.data:
        if params.on_refused:
            await call.ctx.accept_refusal(f"{call.node}/{_FILE}")
            call.variables.note_decision(Value(None, call.find_origins() | _WEB))
            return StepResult(next_step=params.on_refused)
        message_args = {"why": fetched_file.data["why"] or "failed", "name": name, "host": host, "most": LARGEST_FILES[kind] // MEGABYTE}
        raise call.fail("scenario-download", f"{host}: {fetched_file.data['problem']}", **fetched_file.data["args"], **message_args)
    if not is_own_chat(call):
        file = Value(
            {"digest": fetched_file.data.get("digest", ""), "name": name, "host": host}, fetched_file.origins | call.find_origins("url")
        )
        return await submit_to_chat(call, f"telegram.send_{kind}", {**call.take("caption"), "file": file}, origins=_WEB)
    if "planned" in fetched_file.data:
        await call.ctx.say(build_reply(Notice(code="scenario-download-planned", args={"name": name, "host": host})), key=call.node)
    else:
        await call.ctx.say_file(
            SentFile(kind=kind, name=name, caption=params.caption), partial(_load_kept, call, fetched_file), key=call.node
        )
    return DONE


async def _fetch(call: StepCall[SendFileParams], kind: Kind, name: str) -> Value:
    """See `RunContext.keep_file`. Shadow mode fetches nothing. Raises RunFailed."""
    allowed = _FOR_CUSTOMERS if call.ctx.actor.for_customers else _FOR_PEOPLE
    if join_origins(split_values(call.filled.get("url"))[1]) - allowed:
        raise call.fail("scenario-value-unfit", "url holds a value that must not leave the company", name="url")
    download = call.surroundings.download

    fetched = call.surroundings.fetched

    async def load() -> bytes | None:
        if fetched.size >= MOST_FETCHED * MEGABYTE:
            raise FileUnavailable(f"the run has fetched {fetched.size} bytes", why="much", total=str(MOST_FETCHED))
        if download is None:
            raise FileUnavailable("nothing is fetched from other hosts here", why="closed")
        downloaded = await download(call.params.url, LARGEST_FILES[kind], fetches=call.ctx.mode != "shadow")
        return _check_content(downloaded, kind, name) if downloaded is not None else None

    file_value = await call.ctx.keep_file(f"{call.node}/{_FILE}", load, origins=_WEB)
    fetched.size += file_value.data.get("size", 0)
    return file_value


def _check_content(downloaded: Downloaded, kind: Kind, name: str) -> bytes:
    """Raises FileUnavailable for nothing, no picture where one is due, or the page that a host shows instead."""
    content = downloaded.content
    if not content:
        raise FileUnavailable("the file is empty", why="empty")
    if kind == "photo" and not (content.startswith(_PICTURES) or _WEBP.match(content)):
        raise FileUnavailable(f"it is no picture ({downloaded.media_type or 'no type'})", why="picture")
    is_page = downloaded.media_type in _PAGE_TYPES or _PAGE.match(content) is not None
    if is_page and not name.lower().endswith(_PAGE_ENDINGS):
        raise FileUnavailable("it is a page, not a file", why="page")
    return content


def _name_file(url: str, kind: Kind) -> str:
    last = unquote(url.partition("?")[0].partition("://")[2].partition("/")[2].rpartition("/")[2])
    return to_visible_line(re.sub(r"[/\\]", " ", last), limit=_LONGEST_NAME) or kind


def _find_host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "")[:_LONGEST_NAME]
    except ValueError:
        return ""


def _list_file_writes(method: str, raw: Raw) -> Sequence[Write]:
    fetches: tuple[Write, ...] = (("http", "http.get"),) if raw.get("url") else ()
    return (*fetches, ("telegram", method)) if raw.get("chat_id") is not None else fetches


def _list_mistakes(raw: Raw) -> Iterator[StepMistake]:
    if len([name for name in _SOURCES if raw.get(name) not in (None, "")]) != 1:
        yield StepMistake(code="finding-one-of", args={"known": ", ".join(_SOURCES)})
    path = raw.get("path")
    if isinstance(path, str) and path and not is_later(path):
        try:
            parse_path(path)
        except PathRefused as error:
            yield StepMistake(path=("path",), code="finding-path-outside", args={"problem": str(error)})
    url = raw.get("url")
    if not isinstance(url, str) or not url:
        return
    scheme, _, rest = url.partition("://")
    if "{" in scheme + re.split(r"[/?]", rest, maxsplit=1)[0]:
        yield StepMistake(path=("url",), code="finding-address-host-open")
        return
    try:
        parse_address(_PLACEHOLDER.sub("x", url))
    except OddAddress as error:
        yield StepMistake(path=("url",), code="finding-address-odd", args={"problem": str(error)})


def _list_addresses(raw: Raw) -> Iterable[tuple[tuple[str | int, ...], str]]:
    url = raw.get("url")
    return ((("url",), _PLACEHOLDER.sub("x", url)),) if isinstance(url, str) and url else ()


_SUMMARIES: Final[Mapping[Kind, str]] = {
    "photo": "Sends a photo to a chat of Telegram; to other chats than its own a person is asked.",
    "document": "Sends a document to a chat of Telegram; to other chats than its own a person is asked.",
}
SENT_FILES: Final[tuple[AnyStepType, ...]] = tuple(
    StepType(
        name=f"telegram_send_{kind}",
        summary=summary,
        params=SendFileParams,
        perform=partial(_send_file, kind=kind),
        example={"params": {"path": f"offers/{kind}.pdf" if kind == "document" else f"offers/{kind}.png", "caption": "For {client}"}},
        spoken=frozenset({"caption"}),
        list_outputs=list_named("output_var", OUTPUT),
        list_writes=partial(_list_file_writes, f"telegram.send_{kind}"),
        list_targets=list_refused,
        list_mistakes=_list_mistakes,
        list_addresses=_list_addresses,
        is_action=True,
    )
    for kind, summary in _SUMMARIES.items()
)
TYPES: Final[tuple[AnyStepType, ...]] = (SEND_MESSAGE, *SENT_FILES)
