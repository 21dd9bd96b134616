"""The control side, `/sandbox/…`: people are driven here, chats are read, faults are armed. The bot never calls it."""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse, StreamingResponse

from sandbox.telegram import acting
from sandbox.telegram.control_bodies import (
    Advance,
    ArmedFault,
    Edited,
    Limits,
    NewGroup,
    NewPerson,
    Pressed,
    Sent,
)
from sandbox.telegram.faults import Fault
from sandbox.telegram.limits import RateLimits, RateWatch
from sandbox.telegram.methods.commands import menu_of_chat
from sandbox.telegram.storage import callbacks, files, messages, people, updates
from sandbox.telegram.storage.people import Person
from sandbox.telegram.views import draft_view, message_view
from sandbox.telegram.wire import JsonObject
from sandbox.telegram.world import World


def control_router(world: World) -> APIRouter:
    """Build `/sandbox/…`: people and what they do, chats, and the machinery of tests."""
    router = APIRouter(prefix="/sandbox")
    _people_routes(router, world)
    _acting_routes(router, world)
    _reading_routes(router, world)
    _stream_routes(router, world)
    _machinery_routes(router, world)
    return router


def _people_routes(router: APIRouter, world: World) -> None:
    @router.get("/health")
    async def health() -> JsonObject:
        return {"ok": True, "service": "telegram", "people": len(people.all_people(world.db))}

    @router.get("/users")
    async def users() -> JsonObject:
        return {"users": [_person_view(person) for person in people.all_people(world.db)]}

    @router.post("/users")
    async def add_user(body: NewPerson) -> JsonObject:
        person = Person(**body.model_dump())
        people.add_person(world.db, person)
        world.hub.publish("people", 0)
        return _person_view(person)

    @router.get("/chats")
    async def chats() -> JsonObject:
        last = messages.last_of_chats(world.db)
        rows = [{"chat_id": person.id, "title": person.first_name, "members": [person.id]} for person in people.all_people(world.db)]
        listed = rows + people.groups(world.db)
        return {"chats": [{**row, "last": message_view(last[row["chat_id"]]) if row["chat_id"] in last else None} for row in listed]}

    @router.post("/chats")
    async def add_chat(body: NewGroup) -> JsonObject:
        chat_id = people.add_group(world.db, body.title, [_person(world, member).id for member in body.members])
        world.hub.publish("people", 0)
        return {"chat_id": chat_id}


def _acting_routes(router: APIRouter, world: World) -> None:
    @router.post("/users/{user_id}/send")
    async def send(user_id: int, body: Sent) -> JsonObject:
        sent = _acted(acting.send, world, _person(world, user_id), acting.Sending(**body.model_dump()))
        message_id, update_id = sent[-1]
        return {"message_id": message_id, "update_id": update_id, "message_ids": [each[0] for each in sent]}

    @router.post("/users/{user_id}/edit")
    async def edit(user_id: int, body: Edited) -> JsonObject:
        return {"update_id": _acted(acting.edit, world, _person(world, user_id), body.message_id, body.text)}

    @router.post("/users/{user_id}/press")
    async def press(user_id: int, body: Pressed) -> JsonObject:
        person = _person(world, user_id)
        if (body.data is None) == (body.text is None):
            raise HTTPException(400, "name the button by its data or by its text, one of the two")
        message = _acted(acting.find_message, world, person, body.message_id, body.chat_id)
        forged = body.data if body.force else None
        data = forged if forged is not None else _acted(acting.find_button, message, body.data, body.text)
        return {"callback_id": acting.press(world, person, message, data)}

    @router.post("/users/{user_id}/stop")
    async def stop(user_id: int) -> JsonObject:
        return {"update_id": _acted(acting.stop_draft, world, _person(world, user_id))}


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
        # Only a download or a picture: a page or script sent as a document must not run in this page's origin.
        headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'"}
        return FileResponse(world.files_dir / stored["path"], media_type=stored["mime"], headers=headers)


def _stream_routes(router: APIRouter, world: World) -> None:
    @router.get("/chats/{chat_id}/stream")
    async def chat_stream(chat_id: int) -> StreamingResponse:
        return StreamingResponse(world.hub.stream(chat_id), media_type="text/event-stream")

    @router.get("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(world.hub.stream(), media_type="text/event-stream")


def _machinery_routes(router: APIRouter, world: World) -> None:
    @router.get("/requests")
    async def requests(after: int = 0) -> JsonObject:
        return {"requests": [entry for entry in world.requests if entry["seq"] > after]}

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
        world.rate = RateWatch(RateLimits(**body.model_dump()))
        return asdict(world.rate.limits)

    @router.post("/clock")
    async def clock(body: Advance) -> JsonObject:
        world.clock.advance(body.seconds)
        return {"now": world.clock().isoformat().replace("+00:00", "Z")}

    @router.post("/updates")
    async def inject(body: dict[str, Any]) -> JsonObject:
        update_id = updates.add_raw(world.db, body, world.clock())
        world.announce_update()
        return {"update_id": update_id}


def _person(world: World, user_id: int) -> Person:
    person = people.find_person(world.db, user_id)
    if person is None:
        raise HTTPException(404, f"there is no person {user_id}; see GET /sandbox/users")
    return person


def _acted(action: Any, *arguments: Any) -> Any:
    try:
        return action(*arguments)
    except acting.CannotActError as refusal:
        raise HTTPException(400, str(refusal)) from None


def _person_view(person: Person) -> JsonObject:
    return {"telegram_id": person.id, "chat_id": person.id, "name": person.first_name, **asdict(person)}
