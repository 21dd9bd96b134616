"""What the addresses of flows and agents answer about definitions, compared with what they answered when it was recorded."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import text

from bot.access.access_file import TokenGrant
from bot.http_api.definitions.request_body import MAX_BODY
from bot.http_api.server.endpoint_context import encode_cursor
from orchestrator.definitions.service import DefinitionService
from orchestrator.runs.registry import Engines
from state.journal.store import StoreError
from state.model.definitions import DefinitionKey, StaleRevision
from tests.unit.engines.flows.bad_documents import FULL
from tests.unit.engines.flows.flow_kit import agent
from tests.unit.engines.flows.http.flows_kit import AGENTS, FLOWS, a_flow_api
from tests.unit.engines.flows.http.recording_kit import UNKNOWN, Recorder, compare, write_corpus
from tests.unit.engines.flows.http.test_api_flow_definitions import YAML, names

AGENT_YAML = "title: Автор\ndescription: Пишет письма\nsystemPrompt: Ты пишешь.\nmodel: strong\n"
BODIES: tuple[Any, ...] = (
    5, [], {}, {"definition": FULL, "text": "x"}, {"text": 5}, {"definition": FULL, "title": "x"}, {"document": FULL},
    {"definition": FULL, "changeNotes": "т" * 501}, {"definition": FULL, "changeNotes": None}, {"definition": FULL, "note": "x"},
    {"definition": FULL, "revision": 0}, {"definition": FULL, "revision": "1"}, {"definition": FULL, "key": "x"},
    {"definition": FULL, "key": 5}, {"text": "flowId: [", "changeNotes": "x"},
)  # fmt: skip
RAW = (
    b"", b"{", b'{"definition": {', b'{"definition": NaN}', b'{"a": 1, "a": 2}', b'{"definition": {"a": 1, "a": 2}}', b"\xff\xfe",
    b"null",
)  # fmt: skip
READS = ("", "/history", "/export", f"/diff?with={UNKNOWN}")
_LATE = DefinitionKey(
    kind="flow",
    key="plan",
    title="",
    enabled=True,
    active_version=1,
    last_version=1,
    has_draft=False,
    revision=1,
    updated_at="",
    updated_by="",
)
ACTIONS = (("/publish", None), ("/rollback", None), ("/switch", {"active": False}), ("/launch-preview", {}))


@pytest.mark.slow
@pytest.mark.req(
    "S002-2", "S002-5", "S002-7", "S002-8", "S002-9", "S002-12", "S002-15", "S002-44", "S002-45", "S002-46", "S002-54", "S002-57"
)
@pytest.mark.req("S002-A14", "S002-X2", "S002-X3", "S002-X4")
@pytest.mark.parametrize("name", ["flow_definitions", "agents"])
async def test_definitions_are_answered_as_they_were_recorded(tmp_path: Path, name: str) -> None:
    """Status, headers and every byte of the body, of each request that succeeds and of each that is refused."""
    compare(name, await DRIVES[name](tmp_path))


async def record_flows(folder: Path) -> list[str]:
    """Definitions of flows: from a draft to the version that is used, and everything that is refused on the way."""
    async with a_flow_api(folder) as api:
        recorder = Recorder(api)
        ask = recorder.ask
        for caller in ("nobody", "chief"):
            await ask("GET", FLOWS, caller=caller)
        writer = await recorder.make(AGENTS, agent(), key="writer")
        off = await recorder.make(AGENTS, agent(), key="off")
        draft_agent = await recorder.make(AGENTS, agent(), key="draft", is_published=False)
        await ask("POST", f"{AGENTS}/{off}/switch", {"active": False, "changeNotes": "жалобы"})
        metadata = {"title": "Проба", "description": "О чём", "tags": ["Продажи", "b"]}
        first = await recorder.make(
            FLOWS, {**names("writer"), "version": 9, "metadata": metadata}, is_published=False, changeNotes="первая"
        )
        place = f"{FLOWS}/{first}"
        await ask("GET", place)
        await ask("PUT", place, {"definition": names("writer", "writer"), "changeNotes": "вторая"}, caller="head", If_Match='"1"')
        await ask("PUT", place, {"text": YAML.replace("offer", "plan"), "revision": 2})
        await ask("PUT", place, content=YAML.replace("offer", "plan").encode(), kind="application/yaml", If_Match='"3"')
        await ask("PUT", f"{place}?changeNotes={'n' * 501}", content=YAML.encode(), kind="text/yaml", If_Match='"4"')
        await ask(
            "PUT", f"{place}?changeNotes=%D0%B8%D0%B7", content=YAML.replace("offer", "plan").encode(), kind="text/yaml", If_Match='"4"'
        )
        await _refuse_saving(recorder, place)
        await ask("POST", f"{place}/publish", {"changeNotes": "в работу", "revision": 5}, caller="head")
        await ask("POST", f"{place}/publish", {"revision": 5})
        await ask("POST", f"{place}/publish", If_Match='"6"')
        await ask("PUT", place, {"definition": names("writer", version=1), "revision": 6})
        for version in (names(writer.upper(), "writer"), names("writer", "off"), names("off", draft_agent, "nobody", UNKNOWN)):
            await ask("POST", FLOWS, {"definition": version})
        second = await recorder.make(FLOWS, names("writer"))
        third = await recorder.make(FLOWS, names("writer"), is_published=False)
        await ask("POST", f"{AGENTS}/{writer}/switch", {"active": False})
        await ask("POST", f"{FLOWS}/{third}/publish")
        await ask("POST", f"{FLOWS}/{second}/publish")
        await ask("POST", f"{place}/publish")
        await ask("POST", f"{AGENTS}/{writer}/switch", {"active": True})
        await ask("GET", f"{place}/diff?with={second}")
        await ask("GET", f"{FLOWS}/{second}/diff?with={first.upper()}")
        for query in ("", "?with=offer", "?with=", f"?with={writer}", f"?with={'x' * 65}", f"?with={first}&x=1"):
            await ask("GET", f"{place}/diff{query}")
        await ask("GET", f"{FLOWS}/{second}/history")
        await ask("POST", f"{place}/rollback")
        await ask("POST", f"{place}/rollback", {"changeNotes": "назад"})
        await ask("POST", f"{place}/rollback", {"changeNotes": "n" * 501})
        await ask("POST", f"{place}/rollback", {"revision": 1})
        await ask("POST", f"{place}/switch", {"active": False, "changeNotes": "стоп"})
        await ask("POST", f"{place}/switch", {"active": False})
        for body in (None, {}, {"active": "true"}, {"active": True, "x": 1}, {"active": True, "changeNotes": "n" * 501}):
            await ask("POST", f"{place}/switch", body)
        await ask("POST", f"{place}/switch", {"active": True})
        await _export(recorder, place)
        await _list(recorder, FLOWS)
        await _refuse(recorder, FLOWS, place, third)
        await _damage(recorder, FLOWS, place)
        return recorder.lines


async def record_agents(folder: Path) -> list[str]:
    """Definitions of agents, whose key stands beside them."""
    async with a_flow_api(folder, policy={"definitions": {"agent": {"publish": ["admin"]}}}) as api:
        recorder = Recorder(api)
        ask = recorder.ask
        await ask("GET", AGENTS)
        made = await recorder.make(AGENTS, agent(title="Автор", description="Кто", model="strong"), key="writer", changeNotes="первый")
        place = f"{AGENTS}/{made}"
        await ask("POST", f"{AGENTS}?key=letters&changeNotes=note", content=AGENT_YAML.encode(), kind="application/yaml")
        await ask("POST", AGENTS, content=AGENT_YAML.encode(), kind="application/x-yaml")
        await ask("POST", f"{AGENTS}?key={'k' * 65}", content=AGENT_YAML.encode(), kind="application/yaml")
        await ask("POST", f"{AGENTS}?key=other", {"key": "writer", "text": AGENT_YAML})
        await ask("POST", AGENTS, {"key": "x", "definition": {"systemPrompt": "", "defaultOptions": {"topP": 2}}})
        await ask("POST", AGENTS, {"key": "a b", "definition": agent()})
        await ask("POST", AGENTS, {"definition": agent()})
        await ask("POST", f"{AGENTS}/import?key=copy", content=AGENT_YAML.encode(), kind="application/yaml")
        await ask("POST", f"{AGENTS}/import", content=json.dumps(agent()).encode())
        await ask("POST", f"{AGENTS}/validate", {"definition": agent(effects=["crm.deal.delete"])}, caller="head")
        await ask("POST", f"{AGENTS}/validate", {"definition": agent(effects=["crm.deal.nothing"])})
        await ask("PUT", place, {"definition": agent(), "revision": 2})
        draft = await recorder.make(AGENTS, agent("Ты читаешь."), key="writer", is_published=False)
        await _refuse_saving(recorder, f"{AGENTS}/{draft}")
        await ask("PUT", f"{AGENTS}/{draft}", {"definition": agent("Ты считаешь."), "revision": 1})
        await ask("POST", f"{AGENTS}/{draft}/publish", caller="head")
        await ask("POST", f"{place}/rollback", caller="head")
        await ask("POST", f"{place}/switch", {"active": False}, caller="head")
        await ask("POST", f"{place}/switch", {"active": True}, caller="head")
        await ask("POST", f"{place}/switch", {"active": True})
        await ask("GET", f"{place}/history")
        await ask("GET", f"{AGENTS}/{draft}/diff?with={made}")
        await _export(recorder, place)
        await _list(recorder, AGENTS)
        await _refuse(recorder, AGENTS, place, draft)
        await _damage(recorder, AGENTS, place)
    async with a_flow_api(folder / "bare", Engines()) as api:
        recorder.api = api
        for path in (FLOWS, AGENTS, f"{FLOWS}/{UNKNOWN}"):
            await recorder.ask("GET", path)
    return recorder.lines


async def _refuse_saving(recorder: Recorder, place: str) -> None:
    """What is no revision, and a revision that is gone."""
    document = names("writer") if place.startswith(FLOWS) else agent("Другой.")
    await recorder.ask("PUT", place, {"definition": document})
    for given in ("2", '"0"', "*", '"1", "2"', 'W/"1"'):
        await recorder.ask("PUT", place, {"definition": document}, If_Match=given)
    await recorder.ask("PUT", place, {"definition": document, "revision": 900})
    await recorder.ask("PUT", place, {"definition": document, "revision": 1}, If_Match='"900"')
    await recorder.ask("PUT", place, {"definition": {**document, "unknown": 1}, "revision": 900})
    await recorder.ask("PUT", place, {"definition": {**document, "flowId": "else"}, "revision": 1})
    await recorder.ask("POST", f"{place}/publish", {"revision": 900})
    await recorder.ask("POST", f"{place}/publish", If_Match="900")
    for body in ({"revision": 0}, {"revision": "1"}, {"x": 1}, [], {"changeNotes": "n" * 501}, {"change_notes": "x"}):
        await recorder.ask("POST", f"{place}/publish", body)


async def _export(recorder: Recorder, place: str) -> None:
    path = FLOWS if place.startswith(FLOWS) else AGENTS
    for query in ("", "?format=yaml", "?format=json"):
        file = await recorder.ask("GET", f"{place}/export{query}")
    await recorder.ask("POST", f"{path}/import?changeNotes=back&key=writer", content=file.content)
    if path == FLOWS:
        await recorder.ask("POST", f"{path}/import?changeNotes=back", content=file.content, kind="application/json; charset=utf-8")
        await recorder.ask("POST", f"{path}/import", content=YAML.encode(), kind="application/yaml")
        await recorder.ask("POST", f"{path}/validate", content=YAML.encode(), kind="application/yaml")
    for query in ("?format=xml", "?version=1"):
        await recorder.ask("GET", f"{place}/export{query}")


async def _list(recorder: Recorder, path: str) -> None:
    cursor = ""
    for _ in range(20):
        page = (await recorder.ask("GET", f"{path}?limit=2{cursor}")).json()
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    for query in ("q=PLAN", "q=автор", "tag=продажи", "status=DRAFT", "status=PUBLISHED&active=true", "active=false", "published=true"):
        await recorder.ask("GET", f"{path}?{query}")
    await recorder.ask("GET", f"{path}?published=false&limit=3")
    for query in ("limit=0", "limit=101", "status=draft", "x=1", "active=maybe", f"q={'q' * 201}", f"tag={'t' * 51}", "cursor=%3F"):
        await recorder.ask("GET", f"{path}?{query}")
    for place in (("d", "1"), ("f", "a", "x"), ("f", "nowhere", "1"), ("f", "a/b", "1"), ("f", "", "1"), ("f", "writer")):
        await recorder.ask("GET", f"{path}?cursor={encode_cursor(*place)}")


async def _refuse(recorder: Recorder, path: str, place: str, draft: str) -> None:
    """Bodies of a wrong form, callers without rights, addresses of nothing, methods that none has, and trouble of the store."""
    ask, _api = recorder.ask, recorder.api
    for body in BODIES:
        for target in (path, f"{path}/validate"):
            await ask("POST", target, body)
        await ask("PUT", f"{path}/{draft}", body, If_Match='"1"')
    for raw in RAW:
        await ask("POST", path, content=raw)
        await ask("POST", f"{path}/import?key=x", content=raw)
        await ask("POST", f"{path}/validate", content=raw, kind="application/yaml")
        await ask("POST", f"{place}/switch", content=raw)
    for target in (path, f"{path}/import", f"{path}/validate"):
        await ask("POST", target, content=b"x", kind="text/plain")
        await ask("POST", target, content=b'{"definition": "' + b"x" * MAX_BODY + b'"}')
    await ask("POST", f"{place}/publish", content=b'{"changeNotes": "' + b"x" * 20_000 + b'"}')
    await _refuse_callers(recorder, path, place)
    for wrong in (UNKNOWN, "offer", "-" * 36):
        for part in READS:
            await ask("GET", f"{path}/{wrong}{part}")
        for part, body in ACTIONS:
            await ask("POST", f"{path}/{wrong}{part}", body)
        await ask("PUT", f"{path}/{wrong}", {"definition": FULL, "revision": 1})
    for method, target in (("DELETE", place), ("PATCH", path), ("GET", f"{place}/publish"), ("PUT", f"{path}/validate")):
        await ask(method, target)
    for method, error in (("switch", StaleRevision(_LATE)), ("find_by_id", StoreError("gone"))):
        with patch.object(DefinitionService, method, side_effect=error):
            await ask("POST", f"{place}/switch", {"active": True})


async def _refuse_callers(recorder: Recorder, path: str, place: str) -> None:
    """Callers without rights."""
    ask, api = recorder.ask, recorder.api
    for caller in ("site", ""):
        for part in READS:
            await ask("GET", f"{place}{part}", caller=caller)
        for part, body in ACTIONS:
            await ask("POST", f"{place}{part}", body, caller=caller)
        for target in (path, f"{path}/import", f"{path}/validate"):
            await ask("POST", target, {"definition": FULL}, caller=caller)
        await ask("GET", path, caller=caller)
        await ask("PUT", place, {"definition": FULL, "revision": 1}, caller=caller)
    api.grants["head"] = TokenGrant(name="head", customers=True)
    await ask("GET", place, caller="head")
    await ask("POST", path, {"definition": FULL}, caller="head")
    await ask("POST", f"{place}/switch", {"active": False}, caller="head")


async def _damage(recorder: Recorder, path: str, place: str) -> None:
    """A text that was changed by hand."""
    with recorder.api.sql._database._dialect.engine.begin() as connection:
        connection.execute(text("UPDATE definition_texts SET document = '{}'"))
    await recorder.ask("GET", path)
    for method, part, body in (("GET", "", None), ("GET", "/export", None), ("POST", "/publish", None), ("POST", "/rollback", None)):
        await recorder.ask(method, f"{place}{part}", body)


DRIVES = {"flow_definitions": record_flows, "agents": record_agents}
if __name__ == "__main__":
    write_corpus(DRIVES)
