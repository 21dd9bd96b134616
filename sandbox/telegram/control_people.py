"""Routes of the control interface for people: who exists, what they write and click, and which chats they are in."""

from dataclasses import asdict
from typing import Any, Literal

from fastapi import APIRouter, HTTPException

from sandbox.telegram import acting, joining, pressing, sharing
from sandbox.telegram.contacts import contact_of, contact_without_account, load_address_book
from sandbox.telegram.control_bodies import (
    Burst,
    By,
    Deleted,
    Edited,
    Forwarded,
    Members,
    NewGroup,
    NewPerson,
    NewTopic,
    Pressed,
    Sent,
    SentFile,
    SharedContact,
    Standing,
    Voice,
)
from sandbox.telegram.speech import decoded, load_samples
from sandbox.telegram.storage import messages, people, standings
from sandbox.telegram.storage.people import Person
from sandbox.telegram.views import message_view
from sandbox.telegram.wire import JsonObject, Upload
from sandbox.telegram.world import World


def people_routes(router: APIRouter, world: World) -> None:
    """Add routes to `router` that list and create people and chats."""

    @router.get("/health")
    async def health() -> JsonObject:
        return {"ok": True, "service": "telegram", "people": len(people.all_people(world.db))}

    @router.get("/users")
    async def users() -> JsonObject:
        return {"users": [_person_view(person) for person in people.all_people(world.db)]}

    @router.post("/users")
    async def add_user(body: NewPerson) -> JsonObject:
        person = Person(**body.model_dump(exclude={"started"}))
        people.add_person(world.db, person)
        if not body.started:
            standings.put(world.db, person.id, "unstarted")
        world.hub.publish("people", 0)
        return _person_view(person)

    @router.get("/chats")
    async def chats() -> JsonObject:
        last = messages.last_of_chats(world.db)
        rows = [{"chat_id": person.id, "title": person.first_name, "members": [person.id]} for person in people.all_people(world.db)]
        groups = [{**group, "topics": standings.topics_of(world.db, group["chat_id"])} for group in people.groups(world.db)]
        return {"chats": [{**row, **_state(world, row["chat_id"]), "last": _shown(last.get(row["chat_id"]))} for row in rows + groups]}

    @router.post("/chats")
    async def add_chat(body: NewGroup) -> JsonObject:
        members = [_person(world, member).id for member in body.members]
        chat_id = people.add_group(world.db, body.title, members, body.kind)
        if body.added_by is not None:
            standings.put(world.db, chat_id, "left")
            _acted(joining.set_standing, world, _person(world, body.added_by), chat_id, None)
        world.hub.publish("people", 0)
        return {"chat_id": chat_id}


def acting_routes(router: APIRouter, world: World) -> None:
    """Add routes to `router` with which people write, send files, and click buttons."""

    @router.post("/users/{user_id}/send")
    async def send(user_id: int, body: Sent) -> JsonObject:
        return _numbers(_acted(acting.send, world, _person(world, user_id), body.text, body.around(), body.entities))

    @router.post("/users/{user_id}/burst")
    async def burst(user_id: int, body: Burst) -> JsonObject:
        person = _person(world, user_id)
        return _numbers([sent for text in body.texts for sent in _acted(acting.send, world, person, text, body.around())])

    @router.post("/users/{user_id}/forward")
    async def forward(user_id: int, body: Forwarded) -> JsonObject:
        person, how = _person(world, user_id), {"comment": body.comment, "comment_first": body.comment_first}
        return _numbers(_acted(sharing.forward, world, person, body.around(), body.texts, **how))

    @router.post("/users/{user_id}/edit")
    async def edit(user_id: int, body: Edited) -> JsonObject:
        return {"update_id": _acted(acting.edit, world, _person(world, user_id), body.message_id, body.text)}

    @router.post("/users/{user_id}/delete")
    async def delete(user_id: int, body: Deleted) -> JsonObject:
        _acted(acting.delete, world, _person(world, user_id), body.message_id, body.chat_id)
        return {"deleted": body.message_id}

    @router.post("/users/{user_id}/press")
    async def press(user_id: int, body: Pressed) -> JsonObject:
        person = _person(world, user_id)
        if (body.data is None) == (body.text is None):
            raise HTTPException(400, "name the button by its data or by its text, one of the two")
        message = _acted(pressing.find_message, world, person, body.message_id, body.chat_id)
        forged = body.data if body.force else None
        data = forged if forged is not None else _acted(pressing.find_button, message, body.data, body.text)
        return {"callback_id": pressing.press(world, person, message, data, age=body.age)}

    @router.post("/users/{user_id}/stop")
    async def stop(user_id: int) -> JsonObject:
        return {"update_id": _acted(pressing.stop_draft, world, _person(world, user_id))}

    _file_routes(router, world)
    _contact_routes(router, world)


def _contact_routes(router: APIRouter, world: World) -> None:
    @router.get("/users/{user_id}/contacts")
    async def contacts(user_id: int, language: Literal["ru", "en"] = "ru") -> JsonObject:
        return {"own": contact_of(_person(world, user_id)), "others": load_address_book(language)}

    @router.post("/users/{user_id}/contact")
    async def contact(user_id: int, body: SharedContact) -> JsonObject:
        if (body.of is None) == (body.phone_number is None):
            raise HTTPException(400, "a contact is that of a person, or has a phone_number and a first_name, one of the two")
        if body.of is not None:
            given = contact_of(_person(world, body.of))
        elif body.phone_number and body.first_name:
            given = contact_without_account(body.phone_number, body.first_name, last_name=body.last_name, vcard=body.vcard)
        else:
            raise HTTPException(400, "first_name: a contact without an account has a name")
        return _numbers([_acted(sharing.share_contact, world, _person(world, user_id), body.around(), given)])


def _file_routes(router: APIRouter, world: World) -> None:
    @router.get("/voice")
    async def samples(language: Literal["ru", "en"] = "ru") -> JsonObject:
        return {"samples": [{"name": name, "words": words} for name, words in load_samples(language).items()]}

    @router.post("/users/{user_id}/voice")
    async def voice(user_id: int, body: Voice) -> JsonObject:
        if sum(given is not None for given in (body.words, body.sample, body.base64)) != 1:
            raise HTTPException(400, "a voice message is made of words, of a sample, or of a recording, one of the three")
        samples = load_samples()
        if body.sample is not None and body.sample not in samples:
            raise HTTPException(400, f"there is no sample {body.sample!r}; there are {', '.join(samples)}")
        words = samples[body.sample] if body.sample is not None else body.words or ""
        recording = _bytes(body.base64) if body.base64 is not None else None
        spoken = {"words": words, "recording": recording, "seconds": body.seconds}
        sent, stored = _acted(sharing.say_aloud, world, _person(world, user_id), body.around(), **spoken)
        return {**_numbers([sent]), "file_id": stored["file_id"]}

    @router.post("/users/{user_id}/document")
    async def document(user_id: int, body: SentFile) -> JsonObject:
        return _sent_file(user_id, body, "document")

    @router.post("/users/{user_id}/photo")
    async def photo(user_id: int, body: SentFile) -> JsonObject:
        return _sent_file(user_id, body, "photo")

    def _sent_file(user_id: int, body: SentFile, kind: str) -> JsonObject:
        if (body.text is None) == (body.base64 is None):
            raise HTTPException(400, "a file is made of text or of base64, one of the two")
        content = body.text.encode() if body.text is not None else _bytes(body.base64 or "")
        given = {"upload": Upload(body.file_name, body.mime, content), "caption": body.caption}
        sent, stored = _acted(sharing.send_file, world, _person(world, user_id), kind, body.around(), **given)
        return {**_numbers([sent]), "file_id": stored["file_id"]}


def joining_routes(router: APIRouter, world: World) -> None:
    """Add routes to `router` for blocking the bot, joining and leaving groups, opening topics, and turning a group into a supergroup."""

    @router.post("/users/{user_id}/standing")
    async def person_standing(user_id: int, body: Standing) -> JsonObject:
        person = _person(world, user_id)
        update_id = _acted(joining.set_standing, world, person, user_id, body.state)
        world.hub.publish("people", 0)
        return {"update_id": update_id}

    @router.post("/chats/{chat_id}/standing")
    async def group_standing(chat_id: int, body: Standing) -> JsonObject:
        if body.by is None:
            raise HTTPException(400, "by: name the member who does it")
        update_id = _acted(joining.set_standing, world, _person(world, body.by), chat_id, body.state)
        world.hub.publish("people", 0)
        return {"update_id": update_id}

    @router.post("/chats/{chat_id}/migrate")
    async def migrate(chat_id: int, body: By) -> JsonObject:
        return {"chat_id": _acted(joining.migrate, world, _person(world, body.by), chat_id)}

    @router.post("/chats/{chat_id}/topics")
    async def topic(chat_id: int, body: NewTopic) -> JsonObject:
        return {"thread": _acted(joining.open_topic, world, _person(world, body.by), chat_id, body.name)}

    @router.post("/chats/{chat_id}/members")
    async def members(chat_id: int, body: Members) -> JsonObject:
        who = {"add": [_person(world, one) for one in body.add], "remove": [_person(world, one) for one in body.remove]}
        _acted(joining.change_members, world, _person(world, body.by), chat_id, **who)
        return {"members": people.members_of(world.db, chat_id)}


def _numbers(sent: list[acting.Sent]) -> JsonObject:
    message_id, update_id = sent[-1]
    return {
        "message_id": message_id,
        "update_id": update_id,
        "message_ids": [each[0] for each in sent],
        "update_ids": [each[1] for each in sent],
    }


def _state(world: World, chat_id: int) -> JsonObject:
    state = standings.state_of(world.db, chat_id)
    return {"state": state} if state else {}


def _shown(message: messages.StoredMessage | None) -> JsonObject | None:
    return message_view(message) if message else None


def _bytes(text: str) -> bytes:
    content = decoded(text)
    if content is None:
        raise HTTPException(400, "base64: this is none")
    return content


def _person(world: World, user_id: int) -> Person:
    person = people.find_person(world.db, user_id)
    if person is None:
        raise HTTPException(404, f"there is no person {user_id}; see GET /sandbox/users")
    return person


def _acted(action: Any, *arguments: Any, **named: Any) -> Any:
    try:
        return action(*arguments, **named)
    except acting.CannotActError as refusal:
        raise HTTPException(400, str(refusal)) from None


def _person_view(person: Person) -> JsonObject:
    return {"telegram_id": person.id, "chat_id": person.id, "name": person.first_name, **asdict(person)}
