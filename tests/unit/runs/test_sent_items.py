"""Contacts, photos and documents reach the run that waits for one, once; all others are answered as ever."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientConnectionError

from orchestrator.runs.ending import build_forget_row
from orchestrator.runs.sent_items import LARGEST_FILE
from state.events.runs import InputTaken
from state.journal.blobs import unpack_file
from state.journal.journal import load_state
from state.journal.store import Commit, StoreUnwritable
from state.sql.store import open_store
from tests.postgres_kit import Server
from tests.unit.bot.telegram.door_kit import ANNA, VERA, Answer, forwarded, refused
from tests.unit.runs.runs_kit import RUN, index
from tests.unit.runs.sent_kit import REPLY_TO_BOT, a_sent_world, answers, contact, document, photo, said, send
from tests.unit.spine_kit import CHAT, until

GROUP = -500


async def test_a_document_is_downloaded_once_and_stored_with_the_answer(tmp_path: Path) -> None:
    """The run gets name, size, type and digest; the blob begins with its key and holds the very bytes. A second delivery does nothing."""
    async with a_sent_world(tmp_path, ["document"]) as chat:
        chat.wire.files["doc"] = b"\x00\xff%PDF"
        await send(chat, 1, document())
        await send(chat, 1, document())
        (woken,) = answers(chat.world)
        sent = woken.value["sent"]
        assert {**sent, "digest": ""} == {"name": "смета.pdf", "size": 6, "type": "application/pdf", "digest": ""}
        blob = chat.world.sql.load_blob(sent["digest"])
        assert blob is not None
        assert blob.startswith(f"{RUN}\n")
        assert unpack_file(blob) == b"\x00\xff%PDF"
        assert woken.origins == ["person", "prose"]
        assert chat.wire.downloads == ["doc"]
        assert index(chat.world).status == "done"
        assert said(chat)[-2].endswith("✓ Файл получен: смета.\u2060pdf")  # no link that Telegram would make of a name


async def test_of_a_photo_the_largest_size_is_taken_and_its_caption_kept(tmp_path: Path) -> None:
    async with a_sent_world(tmp_path, ["photo"]) as chat:
        chat.wire.files["big"] = b"jpeg"
        await send(chat, 1, photo(caption="Вот витрина"))
        (woken,) = answers(chat.world)
        assert (woken.value["kind"], woken.value["text"], woken.value["sent"]["type"]) == ("photo", "Вот витрина", "image/jpeg")
        assert chat.wire.downloads == ["big"]


async def test_an_engine_reads_the_content_with_its_origins(tmp_path: Path) -> None:
    """A digest that is none of a file of this run opens nothing and ends the run with a sentence."""
    async with a_sent_world(tmp_path, ["document"], ["contact"], read=True) as chat:
        chat.wire.files["doc"] = "Смета".encode()
        await send(chat, 1, document())
        assert "Смета ['person', 'prose']" in said(chat)
        await send(chat, 2, contact())
        assert index(chat.world).status == "failed"
        assert "больше нет" in said(chat)[-1]


@pytest.mark.parametrize(("sent", "own"), [
    (contact(ANNA), True), (contact(VERA), False), (contact(None), False), (contact(ANNA) | {"forward_origin": forwarded()}, False),
])  # fmt: skip
async def test_only_a_persons_own_contact_counts_as_their_words(tmp_path: Path, sent: dict[str, Any], *, own: bool) -> None:
    """What is written of it at once in one case asks a person in all others."""
    async with a_sent_world(tmp_path, ["contact"], note=True) as chat:
        await send(chat, 1, sent)
        (woken,) = answers(chat.world)[:1]
        assert woken.value["sent"] == {"phone": "+79160000001", "name": "Анна Петрова", "user_id": sent["contact"].get("user_id")}
        assert ("prose" in woken.origins) is not own
        assert (len(chat.world.portal.written("crm.timeline.comment.add")), index(chat.world).status) == (
            (1, "done") if own else (0, "waiting")
        )


@pytest.mark.parametrize(("asked", "sent"), [("contact", photo()), ("photo", document()), ("document", contact())])
async def test_what_no_run_asked_for_is_answered_as_ever(tmp_path: Path, asked: str, sent: dict[str, Any]) -> None:
    """Another kind than the awaited one changes nothing in the run, downloads nothing, and gets the answer that it always got."""
    async with a_sent_world(tmp_path, [asked]) as chat:
        chat.world.model.will(*([] if "contact" not in sent else ["ASSISTANT:\nЭто контакт."]))
        await send(chat, 1, sent)
        assert (answers(chat.world), index(chat.world).status, chat.wire.downloads) == ([], "waiting", [])
        assert ("Это контакт." if "contact" in sent else "Напишите словами, что сделать.") in said(chat)[-1]


async def test_somebody_else_answers_nothing_in_a_group(tmp_path: Path) -> None:
    """Only the asked person's photo is taken, also where several people read along."""
    async with a_sent_world(tmp_path, ["photo"], home=f"tg:{GROUP}") as chat:
        chat.wire.files["big"] = b"jpeg"
        await send(chat, 1, photo(), who=VERA, where=GROUP, **REPLY_TO_BOT)
        assert (answers(chat.world), chat.wire.downloads) == ([], [])
        await send(chat, 2, photo(), where=GROUP, **REPLY_TO_BOT)
        assert [one.by for one in answers(chat.world)] == [CHAT]


async def test_in_another_chat_nothing_is_taken(tmp_path: Path) -> None:
    async with a_sent_world(tmp_path, ["photo"], home=f"tg:{GROUP}") as chat:
        await send(chat, 1, photo())
        assert (answers(chat.world), chat.wire.downloads) == ([], [])


@pytest.mark.parametrize(("size", "script", "held", "told"), [
    (LARGEST_FILE + 1, None, None, "Файл больше 20 МБ"),
    (5, refused(400, "Bad Request: file is too big"), None, "Файл больше 20 МБ"),
    (5, refused(400, "Bad Request: wrong file_id or the file is temporarily unavailable"), None, "Telegram не отдал файл"),
    (5, refused(429, "Too Many Requests", retry_after=9), None, "Telegram не отдал файл"),
    (5, None, ClientConnectionError("https://api.telegram.org/file/bot42:TEST-TOKEN/doc"), "Telegram не отдал файл"),
])  # fmt: skip
async def test_a_file_that_cannot_be_had_is_refused_and_the_run_waits_on(
    tmp_path: Path, size: int, script: Answer | None, held: Exception | None, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One sentence each, also if the update comes twice; the next file is taken, and no log holds the token."""
    async with a_sent_world(tmp_path, ["document"]) as chat:
        if script is not None:
            chat.wire.will(script, when=lambda name, _: name == "getFile")
        chat.wire.files["doc"] = held or b"x"
        for _ in range(2):
            await send(chat, 1, document(file_size=size))
        assert [text for text in said(chat) if told in text] == [said(chat)[-1]]
        assert (answers(chat.world), index(chat.world).status) == ([], "waiting")
        chat.wire.files["doc"] = b"small"
        await send(chat, 2, document())
        assert index(chat.world).status == "done"
    assert "TEST-TOKEN" not in caplog.text


async def test_the_declared_size_is_not_believed(tmp_path: Path) -> None:
    """20 MB pass; one byte more is refused while it streams, whatever message and getFile say of its size."""
    async with a_sent_world(tmp_path, ["document"]) as chat:
        chat.wire.files["doc"] = bytes(LARGEST_FILE + 1)
        known = {"file_id": "doc", "file_unique_id": "doc", "file_path": "doc", "file_size": 7}
        chat.wire.will({"ok": True, "result": known}, when=lambda name, _: name == "getFile")
        await send(chat, 1, document(file_size=7))
        assert "Файл больше 20 МБ" in said(chat)[-1]
        assert answers(chat.world) == []
        chat.wire.files["doc"] = bytes(LARGEST_FILE)
        await send(chat, 2, document(file_size=7))
        assert [one.value["sent"]["size"] for one in answers(chat.world)] == [LARGEST_FILE]


@pytest.mark.req("G2")
async def test_the_largest_file_is_kept_and_goes_with_its_run(postgres: Server, tmp_path: Path) -> None:
    """PostgreSQL takes 20 MB in the transaction of the answer; when the time of the run is over, the file is removed."""
    url = postgres.fresh()
    try:
        async with a_sent_world(tmp_path, ["photo"], store=open_store(url)) as chat:
            content = bytes(range(256)) * (LARGEST_FILE // 256)
            chat.wire.files["big"] = content
            await send(chat, 1, photo())
            digest = answers(chat.world)[0].value["sent"]["digest"]
            assert unpack_file(chat.world.sql.load_blob(digest) or "") == content
            await chat.world.orchestrator.receive([build_forget_row(RUN, chat.world.clock.now())])
            await chat.settle()
            assert chat.world.sql.load_blob(digest) is None
    finally:
        postgres.drop(url)


async def test_of_an_album_one_file_answers_one_question(tmp_path: Path) -> None:
    """The others do not answer the question after it; they get one sentence together."""
    async with a_sent_world(tmp_path, ["photo"], ["photo"]) as chat:
        chat.wire.files |= {"one": b"1", "two": b"2", "three": b"3"}
        for number, name in enumerate(("one", "two", "three")):
            await send(chat, number, photo(name), media_group_id="77")
        assert (len(answers(chat.world)), chat.wire.downloads) == (1, ["one"])
        assert len([text for text in said(chat) if "Из альбома" in text]) == 1
        await send(chat, 9, photo("two"))
        assert (len(answers(chat.world)), index(chat.world).status) == (2, "done")


async def test_a_command_in_a_caption_stays_a_command(tmp_path: Path) -> None:
    async with a_sent_world(tmp_path, ["photo"]) as chat:
        await send(chat, 1, photo(caption="/cancel"))
        assert (index(chat.world).status, chat.wire.downloads) == ("cancelled", [])


async def test_a_cancelled_run_takes_no_file_that_is_still_coming(tmp_path: Path) -> None:
    """The cancellation does not wait for the download, and nothing of the file is kept."""
    async with a_sent_world(tmp_path, ["document"]) as chat:
        gate = asyncio.Event()
        chat.wire.gates.append((lambda name, _: name == "getFile", gate))
        chat.wire.files["doc"] = b"late"
        coming = asyncio.ensure_future(send(chat, 1, document()))
        await until(lambda: bool(chat.wire.calls("getFile")))
        await chat.door._intake.take({"update_id": 2, "message": _raw("/cancel")})
        await until(lambda: index(chat.world).status == "cancelled")
        gate.set()
        await coming
        assert answers(chat.world) == []
        assert "bGF0ZQ==" not in chat.world.stored_text()


async def test_a_crash_between_download_and_commit_answers_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer and the file are one transaction: if it fails both come with the next attempt, and the person reads nothing of it."""
    async with a_sent_world(tmp_path, ["document"]) as chat:
        chat.wire.files["doc"] = b"here"
        store, failures = chat.world.store, [StoreUnwritable("the disk is full")]
        commit = store.commit_then

        async def fail_once(step: Commit, then: Any) -> None:
            if any(one.blobs for one in (step, *step.earlier)) and failures:
                raise failures.pop()
            await commit(step, then)

        monkeypatch.setattr(store, "commit_then", fail_once)
        await send(chat, 1, document())
        assert (failures, len(answers(chat.world)), chat.wire.downloads) == ([], 1, ["doc", "doc"])
        assert len([text for text in said(chat) if "Файл получен" in text]) == 1


async def test_two_answers_at_one_moment_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that come while a file is being stored find the question answered, and the run reads the same answer at each replay."""
    async with a_sent_world(tmp_path, ["document", "text"], ["text"]) as chat:
        chat.wire.files["doc"] = b"here"
        store, gate, begun = chat.world.store, asyncio.Event(), asyncio.Event()
        commit = store.commit_then

        async def commit_slowly(step: Commit, then: Any) -> None:
            if any(one.blobs for one in (step, *step.earlier)):
                begun.set()
                await gate.wait()
            await commit(step, then)

        monkeypatch.setattr(store, "commit_then", commit_slowly)
        coming = asyncio.ensure_future(send(chat, 1, document()))
        await asyncio.wait_for(begun.wait(), 30)
        await chat.door._intake.take({"update_id": 2, "message": _raw("Пусть так")})
        run = chat.world.orchestrator._sessions[RUN]
        await until(lambda: bool(run.settling._waiters or run._order._waiters))  # the words have reached the run
        gate.set()
        await coming
        assert [one.value["kind"] for one in answers(chat.world)] == ["document"]


async def test_the_chat_listens_on_until_the_file_is_stored(tmp_path: Path) -> None:
    """The chat's list of waiting runs loses the question in the moment in which the run has its answer."""
    async with a_sent_world(tmp_path, ["document"]) as chat:
        chat.wire.files["doc"] = ClientConnectionError("gone")
        await send(chat, 1, document())
        assert list(load_state(chat.world.sql, f"session:{CHAT}")[0].listening or {})
        chat.wire.files["doc"] = b"here"
        await send(chat, 2, document())
        assert load_state(chat.world.sql, f"session:{CHAT}")[0].listening == {}
        assert [one.type for one in chat.world.events("InputTaken")] == [InputTaken.__name__]


def _raw(text: str) -> dict[str, Any]:
    return {"message_id": 5, "date": 1_795_000_000, "chat": {"id": ANNA, "type": "private", "first_name": "А"}, "text": text,
            "from": {"id": ANNA, "is_bot": False, "first_name": "А"}}  # fmt: skip
