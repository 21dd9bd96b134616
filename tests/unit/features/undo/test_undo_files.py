"""A file that a write takes away is kept and can be had back: over the sandbox portal, whose fields hold real files."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.gate.call.ports import Unknown
from orchestrator.gate.undo.undo_policy import is_undo_offered
from orchestrator.performers import former_files
from orchestrator.performers.bitrix import BitrixPerformer
from orchestrator.reports.consistency import EffectChecker
from orchestrator.reports.erasure.erase import ErasureFiles, erase_person, inspect_person
from sandbox.portal import schema
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from state.clock import generate_id
from state.sql import build_sqlite_url, open_store
from state.verify.journal import verify_journal
from tests.unit.features.undo.undo_kit import cards, cmd, codes, done, pressed, restored
from tests.unit.spine_kit import VERA, World, a_world, effect, press
from tests.unit.spine_portal import CODE

ONE, MANY, SMART = "UF_CRM_1700000006", "UF_CRM_1700000007", "ufCrm5_1700000008"
OLD, NEW = b"the contract that was signed", b"another one"


@dataclass
class Wire:
    """Carries requests to the sandbox; keeps the addresses of files that were asked for, and may answer instead."""

    transport: httpx.ASGITransport
    files: list[str] = field(default_factory=list)
    written: list[dict[str, Any]] = field(default_factory=list)
    file_answer: httpx.Response | None = None
    elsewhere: str = ""

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            self.files.append(str(request.url))
            if self.file_answer is not None:
                return self.file_answer
        elif request.url.path.endswith(".update"):
            self.written.append(json.loads(request.content)["fields"])
        url = request.url.copy_with(path=request.url.path.replace(CODE, "sandbox"))
        answer = await self.transport.handle_async_request(
            httpx.Request(request.method, url, content=request.content, headers={"content-type": "application/json"})
        )
        content = await answer.aread()
        if self.elsewhere:
            content = content.replace(b"https://portal.example", self.elsewhere.encode())
        return httpx.Response(answer.status_code, headers=answer.headers, content=content)


@dataclass
class Office:
    world: World
    wire: Wire

    async def record(self, kind: int, number: int) -> dict[str, Any]:
        """As the portal shows it."""
        params = {"entityTypeId": kind, "id": number, "useOriginalUfNames": "Y" if kind == 2 else "N"}
        return dict((await self.world.client.call("crm.item.get", params, repeatable=True)).result["item"])

    async def contents(self, value: Any) -> list[tuple[str, bytes]]:
        """Names and contents of the files of a field."""
        files = [await self.world.client.read_file(one["urlMachine"], at_most=10**8, within=5.0) for one in as_list(value)]
        return [(file.name, file.content) for file in files]


def as_list(value: Any) -> list[dict[str, Any]]:
    return value if isinstance(value, list) else [value] if value else []


def packed(name: str, content: bytes) -> list[str]:
    return [name, base64.b64encode(content).decode()]


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    own = {"deal": (f"{ONE} file D Договор", f"{MANY} file DM Приложения"), "dynamic_177": ("UF_CRM_5_1700000008 file D Скан",)}
    for kind, lines in own.items():
        for line in lines:
            schema.add_field(kind, line)
    app = create_app(Settings(bucket=None))
    wire: Any = Wire(httpx.ASGITransport(app))
    async with a_world(tmp_path, portal=wire, store=open_store(build_sqlite_url(tmp_path / "sdelka.db"))) as world:
        yield Office(world, wire)
    await app.state.portal.events.aclose()
    app.state.portal.close()
    for kind, lines in own.items():
        for line in lines:
            schema.remove_field(kind, line.partition(" ")[0])


async def put(office: Office, name: str = "договор.pdf", content: bytes = OLD, **fields: Any) -> dict[str, Any]:
    """The deal holds a file, put there by somebody else; the record then."""
    value = fields or {ONE: {"fileData": packed(name, content)}}
    await office.world.client.call("crm.deal.update", {"id": 423, "fields": value})
    office.wire.written.clear()
    return await office.record(2, 423)


async def change(office: Office, fields: Mapping[str, Any]) -> str:
    return await done(
        office.world, effect("crm.deal.update", {"id": 423, "fields": dict(fields)}, slot=f"t1/1/{generate_id()}"), actor=VERA
    )


async def is_offered(office: Office, effect_id: str) -> bool:
    """Whether the card that was carried out has the button."""
    session, deps = await office.world.session(VERA.key), office.world.gate.deps
    [card] = [card for card in session.state.cards.values() if card.effect_id == effect_id]
    await session.close()
    return is_undo_offered(card, now=office.world.clock.now(), policy=deps.policy, catalogue=deps.catalogue)


async def test_a_replaced_file_comes_back(office: Office) -> None:
    """The card asks, and the card of the undo names the file with its size; nothing of the content stands in either."""
    await put(office)
    effect_id = await change(office, {ONE: {"fileData": packed("new.pdf", NEW)}})
    assert await office.contents((await office.record(2, 423))[ONE]) == [("new.pdf", NEW)]
    assert await is_offered(office, effect_id)
    shown = cards(await pressed(office.world, effect_id, actor=VERA, key=VERA.key))
    (line,) = shown[0]["preview"]["lines"]
    assert line["after"] == "файл «договор.pdf» (1 КБ)"
    await office.world.work(press(shown[0], actor=VERA, key=VERA.key))
    assert cards(office.world.outbox())[-1]["status"] == "executed"
    assert await office.contents((await office.record(2, 423))[ONE]) == [("договор.pdf", OLD)]
    assert office.wire.written[-1] == {ONE: {"fileData": packed("договор.pdf", OLD)}}


async def test_a_file_of_a_smart_process_comes_back(office: Office) -> None:
    """Under the names and in the form of the other family; also one that was only taken out."""
    value = {SMART: packed("скан.png", OLD)}
    await office.world.client.call("crm.item.update", {"entityTypeId": 177, "id": 12, "fields": value})
    for new in (packed("new.png", NEW), ""):
        params = {"entityTypeId": 177, "id": 12, "fields": {SMART: new}}
        effect_id = await done(office.world, effect("crm.item.update", params, slot=f"t1/1/{generate_id()}"), actor=VERA)
        assert await office.contents((await office.record(177, 12))[SMART]) == ([("new.png", NEW)] if new else [])
        assert (await restored(office.world, effect_id, actor=VERA))["status"] == "executed"
        assert await office.contents((await office.record(177, 12))[SMART]) == [("скан.png", OLD)]
        assert office.wire.written[-1] == value


async def test_one_of_several_files_comes_back(office: Office) -> None:
    """Only what was taken out is kept and written; what stays keeps its id."""
    names = ("a.txt", "b.txt", "c.txt")
    held = await put(office, **{MANY: [{"fileData": packed(name, name.encode())} for name in names]})
    first, _, last = [one["id"] for one in held[MANY]]
    effect_id = await change(office, {MANY: [{"id": first}, {"id": last}]})
    row = await office.world.store.find_effect(effect_id)
    [kept] = row.outcome["files"]["deal:423"][MANY]["was"]
    assert (kept["name"], kept["size"]) == ("b.txt", 5)
    await restored(office.world, effect_id, actor=VERA)
    value = (await office.record(2, 423))[MANY]
    assert await office.contents(value) == [(name, name.encode()) for name in names]
    assert [value[0]["id"], value[2]["id"]] == [first, last]


async def test_what_a_batch_takes_away_is_not_kept(office: Office) -> None:
    """Its card says so, and nothing is read."""
    await put(office)
    lines = (
        f"crm.deal.update?id=423&fields[{ONE}][fileData][0]=a.txt&fields[{ONE}][fileData][1]=YWJj",
        "crm.deal.update?id=425&fields[TITLE]=x",
    )
    given = effect("batch", {"halt": 0, "cmd": cmd(*lines)}, slot="t1/1/1")
    session = await office.world.session(VERA.key)
    pending = await office.world.submit(session, given, actor=VERA)
    entry = session.state.agent.confirmations[pending.confirmation_id]
    await session.close()
    assert "gate-file-lost" in [one.args.get("reason", one.code) for one in pending.reasons]
    await office.world.work(press(entry, actor=VERA, key=VERA.key))
    assert (await office.world.store.find_effect(pending.effect_id)).status == "succeeded"
    assert office.wire.files == []
    assert "undo-not-writable" in codes(await pressed(office.world, pending.effect_id, actor=VERA, key=VERA.key))


def refuse_reading(office: Office, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    match why:
        case "large":
            monkeypatch.setattr(former_files, "MAX_BYTES", len(OLD) - 1)
        case "elsewhere":
            office.wire.elsewhere = "https://evil.example"
        case "no right":
            office.wire.file_answer = httpx.Response(403, json={"error": "ACCESS_DENIED"})
        case "redirect":
            office.wire.file_answer = httpx.Response(302, headers={"Location": "https://evil.example/x"})
        case "empty":
            office.wire.file_answer = httpx.Response(200, headers={"Content-Disposition": "attachment"})


@pytest.mark.parametrize("why", ["large", "elsewhere", "no right", "redirect", "empty"])
async def test_a_file_that_cannot_be_read_is_replaced_all_the_same(office: Office, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    """The card said that it may be lost: the write goes on, nothing is kept, and the undo says so."""
    await put(office)
    refuse_reading(office, monkeypatch, why)
    effect_id = await change(office, {ONE: {"fileData": packed("new.pdf", NEW)}})
    assert len(office.wire.written) == 1
    assert not [address for address in office.wire.files if "portal.example" not in address]
    assert office.wire.files == [] if why == "elsewhere" else len(office.wire.files) == 1
    assert blobs(office) == []
    assert not await is_offered(office, effect_id)
    assert codes(await pressed(office.world, effect_id, actor=VERA, key=VERA.key)) == ["undo-refused", "undo-not-writable"]


def blobs(office: Office) -> list[str]:
    """Where contents lie."""
    return [text.place for text in office.world.sql.open_erasure().iterate_texts() if text.place.startswith("blobs ")]


def find_faults(folder: Path) -> list[str]:
    url = build_sqlite_url(folder / "sdelka.db")
    found = verify_journal(url, judge=EffectChecker, anchors={}, progress=lambda _: None).findings
    return [f"{one.kind}: {one.place}: {one.why}" for one in found]


async def test_the_bound_is_for_all_files_of_a_write(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that fit alone, and not together: neither is kept, because a field comes back whole or not at all."""
    await put(office, **{MANY: [{"fileData": packed("a.txt", b"12345")}, {"fileData": packed("b.txt", b"12345")}]})
    monkeypatch.setattr(former_files, "MAX_BYTES", 9)
    await change(office, {MANY: [{"fileData": packed("new.pdf", NEW)}]})
    assert len(office.wire.files) == 2
    assert blobs(office) == []


@pytest.mark.parametrize("while_it_waits", [True, False])
async def test_a_later_file_is_never_overwritten(office: Office, *, while_it_waits: bool) -> None:
    """Even one of the same name and content is another file; before the press and while the card waits."""
    await put(office)
    effect_id = await change(office, {ONE: {"fileData": packed("new.pdf", NEW)}})
    shown = cards(await pressed(office.world, effect_id, actor=VERA, key=VERA.key)) if while_it_waits else []
    await put(office, "new.pdf", NEW)
    if while_it_waits:
        await office.world.work(press(shown[0], actor=VERA, key=VERA.key))
        assert cards(office.world.outbox())[-1]["code"] == "undo-changed"
    else:
        assert codes(await pressed(office.world, effect_id, actor=VERA, key=VERA.key)) == ["undo-refused", "undo-changed"]
    assert office.wire.written == []
    assert await office.contents((await office.record(2, 423))[ONE]) == [("new.pdf", NEW)]


async def test_what_is_changed_while_it_is_read_is_not_kept(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ids of the card are those that count: another file that came meanwhile is none of this call's."""
    await put(office)
    once = former_files.read_former_files

    async def late(*args: Any) -> Any:
        await put(office, "other.pdf", b"other")
        return await once(*args)

    monkeypatch.setattr("orchestrator.performers.bitrix.read_former_files", late)
    effect_id = await change(office, {ONE: {"fileData": packed("new.pdf", NEW)}})
    assert blobs(office) == []
    assert "undo-not-writable" in codes(await pressed(office.world, effect_id, actor=VERA, key=VERA.key))


async def test_nothing_is_kept_of_a_call_without_an_outcome(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever dies between reading and writing, or hears no answer, leaves no content behind; the journal holds."""
    await put(office)
    monkeypatch.setattr(BitrixPerformer, "execute", lambda *_: asyncio.sleep(0, Unknown(detail="no answer")))
    given = effect("crm.deal.update", {"id": 423, "fields": {ONE: {"fileData": packed("new.pdf", NEW)}}}, slot="t1/1/1")
    session = await office.world.session(VERA.key)
    pending = await office.world.submit(session, given, actor=VERA)
    entry = session.state.agent.confirmations[pending.confirmation_id]
    await session.close()
    await office.world.work(press(entry, actor=VERA, key=VERA.key))
    assert (await office.world.store.find_effect(pending.effect_id)).status == "unknown"
    assert len(office.wire.files) == 1
    assert blobs(office) == []


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ("attachment; filename*=utf-8''..%2F..%2Fetc%2Fpasswd", "passwd"),
        ("attachment; filename*=utf-8''C%3A%5Cx%5C.hidden.exe", "hidden.exe"),
        ("attachment; filename*=utf-8''a%E2%80%AEfdp.exe%0D%0Ab", "afdp.exe b"),
        ("attachment", "file-{id}"),
        ("attachment; filename*=utf-8''" + "x" * 300 + ".pdf", "x" * 196 + ".pdf"),
    ],
)
async def test_a_name_is_one_plain_line(office: Office, sent: str, name: str) -> None:
    """No folders, no hidden signs, no endless names."""
    number = (await put(office))[ONE]["id"]
    office.wire.file_answer = httpx.Response(200, content=OLD, headers={"Content-Disposition": sent})
    effect_id = await change(office, {ONE: {"fileData": packed("new.pdf", NEW)}})
    row = await office.world.store.find_effect(effect_id)
    assert row.outcome["files"]["deal:423"][ONE]["was"][0]["name"] == name.format(id=number)


async def test_only_an_undo_names_a_kept_file(office: Office) -> None:
    """Neither a model nor a run, nor an undo of another call."""
    await put(office)
    effect_id = await change(office, {ONE: {"fileData": packed("new.pdf", NEW)}})
    [kept] = (await office.world.store.find_effect(effect_id)).outcome["files"]["deal:423"][ONE]["was"]
    other = await change(office, {"TITLE": "Иначе"})
    value = {ONE: {"fileData": {"name": "x", "size": 1, "digest": kept["digest"]}}}
    stolen = {"cmd": {"k0": f"crm.deal.update?id=423&fields[{ONE}][fileData][digest]={kept['digest']}"}, "halt": 0}
    session = await office.world.session(VERA.key)
    for method, params, more in (
        ("crm.deal.update", {"id": 423, "fields": value}, {"slot": "t1/1/9"}),
        ("crm.deal.update", {"id": 423, "fields": value}, {"slot": "t1/1/10", "proposed_by": "undo"}),
        ("crm.deal.update", {"id": 423, "fields": value}, {"slot": f"undo:{other}", "proposed_by": "undo"}),
        ("crm.deal.update", {"id": 423, "fields": value}, {"slot": f"undo:{effect_id}"}),
        ("batch", stolen, {"slot": f"undo:{effect_id}/2", "proposed_by": "undo"}),
    ):
        found = await office.world.submit(session, effect(method, params, **more), actor=VERA)
        assert found.reason is not None, found
        assert "gate-kept-file" in (found.reason.code, found.reason.args.get("reason")), found
    await session.close()


async def test_a_file_goes_with_the_person_who_asked(office: Office, tmp_path: Path) -> None:
    """Erased with them; the journal holds before and after, and no content or token stands anywhere but in the one blob."""
    await put(office)
    effect_id = await change(office, {ONE: {"fileData": packed("new.pdf", NEW)}})
    texts = list(office.world.sql.open_erasure().iterate_texts())
    assert [text.place.partition(" ")[0] for text in texts if base64.b64encode(OLD).decode() in text.text] == ["blobs"]
    assert not [text.place for text in texts if "crm|" in text.text or "crm%7C" in text.text]
    assert find_faults(tmp_path) == []
    place = ErasureFiles(logs=office.world.logs, files=())
    erase_person(office.world.sql, inspect_person(office.world.sql, VERA.key, place), place, now=office.world.clock.now(), by="cli:ops")
    assert blobs(office) == []
    assert find_faults(tmp_path) == []
    assert "undo-shown" not in codes(await pressed(office.world, effect_id, actor=VERA, key=VERA.key))
