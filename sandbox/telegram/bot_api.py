"""Serves the HTTP interface of the fake Bot API.

It checks the token, applies faults and rate limits, finds the function of the called method, and wraps the result as the Bot API does.
"""

import asyncio
import contextlib
import hmac
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sandbox.telegram.faults import Fault, refusal, undecodable_update
from sandbox.telegram.methods import callbacks, chats, commands, editing, ephemeral, fetching, live, sending
from sandbox.telegram.settings import TOKEN
from sandbox.telegram.storage import files, people, updates
from sandbox.telegram.wire import ApiError, JsonObject, Params, read_params
from sandbox.telegram.world import World

Method = Callable[[World, Params], Any | Awaitable[Any]]
DOWNLOAD = "download"
"""The name under which faults are ordered for downloads of files, which are no calls of a method."""
_BAD_GATEWAY = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


def _get_me(_world: World, _params: Params) -> JsonObject:
    abilities = {
        "can_join_groups": True,
        "can_read_all_group_messages": True,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }
    return {**people.BOT, **abilities}


METHODS: dict[str, Method] = {
    "getme": _get_me,
    "getupdates": fetching.get_updates,
    "setwebhook": fetching.set_webhook,
    "deletewebhook": fetching.delete_webhook,
    "getwebhookinfo": fetching.get_webhook_info,
    "sendmessage": sending.send_message,
    "senddocument": sending.send_document,
    "sendphoto": sending.send_photo,
    "sendvoice": sending.send_voice,
    "sendchataction": live.send_chat_action,
    "sendmessagedraft": live.send_message_draft,
    "getfile": sending.get_file,
    "editmessagetext": editing.edit_message_text,
    "editmessagecaption": editing.edit_message_caption,
    "editmessagemedia": editing.edit_message_media,
    "editmessagereplymarkup": editing.edit_message_reply_markup,
    "deletemessage": editing.delete_message,
    "setmessagereaction": editing.set_message_reaction,
    "editephemeralmessagetext": ephemeral.edit_text,
    "editephemeralmessagereplymarkup": ephemeral.edit_reply_markup,
    "deleteephemeralmessage": ephemeral.delete,
    "answercallbackquery": callbacks.answer_callback_query,
    "setmycommands": commands.set_my_commands,
    "getmycommands": commands.get_my_commands,
    "deletemycommands": commands.delete_my_commands,
    "getchat": chats.get_chat,
    "getchatmember": chats.get_chat_member,
}


def routes(world: World) -> list[Route]:
    """Return the two HTTP routes of the Bot API: one to call methods, one to download files."""

    async def method(request: Request) -> Response:
        return await _serve(world, request)

    async def download(request: Request) -> Response:
        if not _known(request.path_params["token"]):
            return _answer(ApiError(401, "Unauthorized").envelope())
        fault = world.faults.take(DOWNLOAD, "")
        spoiled = await _spoil_download(world, fault) if fault is not None else None
        if spoiled is not None:
            return spoiled
        stored = files.find_by_link(world.db, request.path_params["path"], now=world.now())
        if stored is None:
            return _answer(ApiError(404, "Not Found").envelope())
        return FileResponse(world.files_dir / stored["path"], media_type=stored["mime"])

    return [
        Route("/bot{token}/{method}", method, methods=["GET", "POST"]),
        Route("/file/bot{token}/{path:path}", download, methods=["GET"]),
    ]


async def _serve(world: World, request: Request) -> Response:
    if not _known(request.path_params["token"]):
        return _answer(ApiError(401, "Unauthorized").envelope())
    name = request.path_params["method"]
    entry = _logged(world, name)
    try:
        params = await read_params(request)
    except ApiError as error:
        answer = _finished(entry, error.envelope())
        _count(world, entry, "")
        return answer
    entry["params"] = params.loggable()
    chat = _chat_of(params)
    world.counters.came(name, chat, world.now())
    fault = world.faults.take(name, chat)
    if fault is None:
        answer = _finished(entry, await _called(world, name, params))
    else:
        entry["fault"] = fault.kind
        world.counters.ordered(fault.kind)
        answer = await _faulty(world, name, params, fault, entry)
    _count(world, entry, chat)
    return answer


def _chat_of(params: Params) -> str:
    return params.text("chat_id") if params.has("chat_id") else ""


def _count(world: World, entry: JsonObject, chat: str) -> None:
    if entry.get("ok"):
        world.counters.passed(entry["method"], chat, world.now())
    elif "ok" in entry:
        world.counters.refused(entry, chat, entry.get("retry_after"), world.now())


async def _called(world: World, name: str, params: Params) -> JsonObject:
    handler = METHODS.get(name.lower())
    if handler is None:
        return ApiError(404, "Not Found: method not found").envelope()
    try:
        world.rate.admit(name, _chat_of(params), world.clock())
        result = handler(world, params)
        if asyncio.iscoroutine(result):
            result = await result
    except ApiError as error:
        return error.envelope()
    return {"ok": True, "result": result}


async def _faulty(world: World, name: str, params: Params, fault: Fault, entry: JsonObject) -> Response:
    refused = refusal(fault)
    if refused is not None:
        if fault.kind == "429" and fault.hold:
            world.rate.close(_chat_of(params), world.now() + (fault.retry_after or fault.seconds))
        return _finished(entry, refused.envelope())
    match fault.kind:
        case "html":
            entry["status"] = 502
            return HTMLResponse(_BAD_GATEWAY, status_code=502)
        case "html_after":
            _finished(entry, await _called(world, name, params))
            return HTMLResponse(_BAD_GATEWAY, status_code=502)
        case "timeout":
            await _pause(world, fault.seconds)
            return CutConnection()
        case "slow":
            await _pause(world, fault.seconds)
            return _finished(entry, await _called(world, name, params))
        case "bad_update":
            updates.add_raw(world.db, undecodable_update(), world.clock())
            world.announce_update()
            return _finished(entry, await _called(world, name, params))
        case _:
            _finished(entry, await _called(world, name, params))
            return CutConnection()


async def _spoil_download(world: World, fault: Fault) -> Response | None:
    """Return the response of a download with this fault; None if the file comes after all, which may be late."""
    refused = refusal(fault)
    if refused is not None:
        return _answer(refused.envelope())
    if fault.kind in {"timeout", "slow"}:
        await _pause(world, fault.seconds)
    return None if fault.kind == "slow" else CutConnection()


async def _pause(world: World, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(world.closing.wait(), seconds)


class CutConnection(Response):
    """An HTTP response that ends before its body, so that the bot cannot know the result of its call."""

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send headers that announce a body, but no body; the server then closes the connection."""
        headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})


def _known(token: str) -> bool:
    return hmac.compare_digest(token.encode(), TOKEN.encode())


def _logged(world: World, method: str) -> JsonObject:
    world.requests_seen += 1
    time = world.clock().isoformat(timespec="milliseconds").replace("+00:00", "Z")
    entry: JsonObject = {"seq": world.requests_seen, "time": time, "method": method, "params": {}, "status": None}
    world.requests.append(entry)
    return entry


def _finished(entry: JsonObject, body: JsonObject) -> Response:
    entry["ok"] = body["ok"]
    entry["status"] = 200 if body["ok"] else body["error_code"]
    if not body["ok"]:
        entry["description"] = body["description"]
        entry.update(body.get("parameters", {}))
    return _answer(body)


def _answer(body: JsonObject) -> Response:
    status = 200 if body["ok"] else body["error_code"]
    return Response(orjson.dumps(body), status_code=status, media_type="application/json")
