"""The control interface under `/sandbox/`, with which tests and the chat page act as people, read chats, set faults and move the clock.

The bot never calls it.
"""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse, StreamingResponse

from sandbox.telegram.control_bodies import Advance, Again, ArmedFault, Language, Limits
from sandbox.telegram.control_people import acting_routes, joining_routes, people_routes
from sandbox.telegram.counters import Counters
from sandbox.telegram.faults import Fault
from sandbox.telegram.limits import RateWatch
from sandbox.telegram.methods.commands import menu_of_chat
from sandbox.telegram.storage import callbacks, files, messages, people, updates
from sandbox.telegram.views import draft_view, message_view
from sandbox.telegram.wire import JsonObject
from sandbox.telegram.world import World


def control_router(world: World) -> APIRouter:
    """Return the router of the control interface `/sandbox/…`: people and their actions, chats, and tools for tests."""
    router = APIRouter(prefix="/sandbox")
    people_routes(router, world)
    acting_routes(router, world)
    joining_routes(router, world)
    _reading_routes(router, world)
    _stream_routes(router, world)
    _counting_routes(router, world)
    _fault_routes(router, world)
    _update_routes(router, world)
    _whole_routes(router, world)
    return router


def _reading_routes(router: APIRouter, world: World) -> None:
    @router.get("/chats/{chat_id}/messages")
    async def chat_messages(chat_id: int, after: int = 0) -> JsonObject:
        if people.find_chat(world.db, chat_id) is None:
            raise HTTPException(404, f"there is no chat {chat_id}")
        listed = [message_view(message) for message in messages.of_chat(world.db, chat_id, after)]
        draft = world.draft_of(chat_id)
        if draft is not None:
            listed.append(draft_view(chat_id, draft))
        return {"messages": listed, "action": world.action_of(chat_id)}

    @router.get("/chats/{chat_id}/commands")
    async def chat_commands(chat_id: int) -> JsonObject:
        return {"commands": menu_of_chat(world, chat_id)}

    @router.get("/callbacks/{callback_id}")
    async def callback(callback_id: str) -> JsonObject:
        found = callbacks.find(world.db, callback_id)
        if found is None:
            raise HTTPException(404, f"there is no press {callback_id}")
        answer = found.pop("answer")
        return {**found, "answered": answer is not None, "answer": answer}

    @router.get("/files/{file_id}")
    async def file(file_id: str) -> FileResponse:
        stored = files.find(world.db, file_id)
        if stored is None:
            raise HTTPException(404, f"there is no file {file_id}")
        # Only a download, a picture or a sound: a page or script sent as a document must not run in this page's origin.
        headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'"}
        return FileResponse(world.files_dir / stored["path"], media_type=stored["mime"], headers=headers)


def _stream_routes(router: APIRouter, world: World) -> None:
    @router.get("/chats/{chat_id}/stream")
    async def chat_stream(chat_id: int) -> StreamingResponse:
        return StreamingResponse(world.hub.stream(chat_id), media_type="text/event-stream")

    @router.get("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(world.hub.stream(), media_type="text/event-stream")


def _counting_routes(router: APIRouter, world: World) -> None:
    @router.get("/requests")
    async def requests(after: int = 0) -> JsonObject:
        return {"requests": [entry for entry in world.requests if entry["seq"] > after]}

    @router.get("/counters")
    async def counters() -> JsonObject:
        return world.counters.view()

    @router.delete("/counters")
    async def reset_counters() -> JsonObject:
        world.counters = Counters()
        return world.counters.view()


def _fault_routes(router: APIRouter, world: World) -> None:
    @router.get("/faults")
    async def faults() -> JsonObject:
        return {"faults": [asdict(fault) for fault in world.faults.armed()]}

    @router.post("/faults")
    async def arm(body: ArmedFault) -> JsonObject:
        world.faults.arm(Fault(**body.model_dump()))
        return {"faults": [asdict(fault) for fault in world.faults.armed()]}

    @router.delete("/faults")
    async def disarm() -> JsonObject:
        world.faults.clear()
        return {"faults": []}

    @router.post("/limits")
    async def limits(body: Limits) -> JsonObject:
        world.rate = RateWatch(body.limits())
        return asdict(world.rate.limits)


def _update_routes(router: APIRouter, world: World) -> None:
    @router.post("/clock")
    async def clock(body: Advance) -> JsonObject:
        world.clock.advance(body.seconds)
        return {"now": world.clock().isoformat().replace("+00:00", "Z")}

    @router.post("/updates")
    async def inject(body: dict[str, Any]) -> JsonObject:
        update_id = updates.add_raw(world.db, body, world.clock())
        world.announce_update()
        return {"update_id": update_id}

    @router.post("/updates/again")
    async def again(body: Again) -> JsonObject:
        latest = list(world.handed)[-body.last :]
        if body.new_ids:
            renewed = [updates.add_raw(world.db, {k: v for k, v in update.items() if k != "update_id"}, world.clock()) for update in latest]
        else:
            world.again.extend(latest)
            renewed = [update["update_id"] for update in latest]
        world.announce_update()
        return {"update_ids": renewed}


def _whole_routes(router: APIRouter, world: World) -> None:
    @router.post("/reset")
    async def reset() -> JsonObject:
        world.start_over()
        return {"ok": True}

    @router.post("/language")
    async def language(body: Language) -> JsonObject:
        people.set_language(world.db, body.language_code)
        world.hub.publish("commands", 0)
        return {"language_code": body.language_code}
