"""The clients of the tool agent's services: inside of the program, at an address, with their token; and `find_in_crm`, which only reads."""

import json
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import httpx
import pytest
from pydantic import SecretStr
from starlette.types import Receive, Scope, Send

from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from bot.composition.installation import load_rules
from bot.composition.portal import TitleSearch
from bot.composition.tool_services import build_service_clients, open_documents
from bot.settings.settings import Settings
from engines.tool_agent.core.rounds import Line, RoundPorts, run_round
from engines.tool_agent.core.toolbox import AgentSettings, Asker, Message
from engines.tool_agent.core.tools import TOOLS
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.errors import SettingsError
from orchestrator.engines.base import ModelText, TurnModelRequest
from orchestrator.runs.registry import Engines
from orchestrator.services.http_client import DocumentClient
from orchestrator.services.rag.building import EmbeddedRag
from tests.unit.engines.tool_agent.ask_kit import HAIKU, Models, Services, call, say, settings
from tests.unit.spine_kit import NOW, WEBHOOK, FixedClock
from tests.unit.spine_portal import Portal, says

TOKEN = "a-token-of-the-documents"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """A service of documents that answers with the headers that it got."""
    del receive
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps({"path": scope["path"], **headers}).encode()})


async def test_the_haiku_service_works_inside_of_the_program() -> None:
    """Without an address nothing is connected: the models of the program write."""
    clients = build_service_clients(settings(), Models([say("раз\nдва\nтри")]))
    assert await clients.check_health("haiku") == {"status": "ok"}
    made = await clients.post("haiku", "/generate_haiku", {"theme": HAIKU["theme"]})
    assert (made["syllables_per_line"], made["total_words"]) == ([1, 1, 1], 3)
    await clients.aclose()


async def test_documents_inside_of_the_program_get_the_token() -> None:
    """The service in this process is asked as one elsewhere would be, with the token that only this process knows."""
    inside = cast("EmbeddedRag", SimpleNamespace(transport=httpx.ASGITransport(app=echo), base_url="http://inside", token=SecretStr(TOKEN)))
    clients = build_service_clients(settings(), Models([]), documents=inside)
    told = await clients.check_health("rag")
    assert (told["path"], told["authorization"], clients.believed) == ("/health", f"Bearer {TOKEN}", {"rag"})
    await clients.aclose()


@pytest.mark.parametrize(("token", "believed"), [(TOKEN, {"rag"}), (None, set())])
async def test_a_service_elsewhere_believes_who_asks_by_the_token_of_the_settings(token: str | None, believed: set[str]) -> None:
    """Without a token none is sent, and nobody is named."""
    clients = build_service_clients(settings(rag_service_url="http://127.0.0.1:9", rag_service_token=token), Models([]))
    assert clients.believed == believed
    await clients.aclose()


async def test_documents_are_opened_inside_of_the_program_where_there_is_a_folder(tmp_path: Path) -> None:
    """Not where the service has an address of its own, and not without the folder; in it, a question is answered with its passage."""
    docs, state = tmp_path / "docs", tmp_path / "state"
    async with AsyncExitStack() as stack:
        assert await open_documents(settings(rag_docs_dir=docs, state_dir=state), stack) is None
        docs.mkdir()
        state.mkdir()
        (docs / "leave.md").write_text("# Отпуск\n\nЗаявление подают за две недели.", encoding="utf-8")
        assert await open_documents(settings(rag_docs_dir=docs, state_dir=state, rag_service_url="http://127.0.0.1:9"), stack) is None
        inside = await open_documents(settings(rag_docs_dir=docs, state_dir=state), stack)
        assert inside is not None
        await inside.service.wait_until_read()
        clients = build_service_clients(settings(), Models([]), documents=inside)
        found = await DocumentClient(clients, top_k=2).ask("когда подавать заявление на отпуск", person="tg:7", role="manager")
        assert [one.text for one in found.passages] == ["Заявление подают за две недели."]
        await clients.aclose()


@pytest.mark.parametrize("address", ["127.0.0.1:8081", "ftp://u:hunter2@x", "http://", "/rag"])
def test_an_address_that_is_none_is_refused_at_the_start(address: str) -> None:
    """The setting is named, and its value is not quoted: it may hold a password."""
    with pytest.raises(SettingsError, match="RAG_SERVICE_URL must be") as caught:
        build_service_clients(settings(rag_service_url=address), Models([]))
    assert "hunter2" not in caught.value.reason


@pytest.mark.parametrize(("asker", "sent"), [(None, {}), (Asker(key="tg:7", roles=("lead",)), {"roles": ["lead"], "asked_by": "tg:7"})])
async def test_the_documents_are_told_who_asks_only_where_they_believe_it(asker: Asker | None, sent: dict[str, object]) -> None:
    """The roles come from the person's rights, never from the model's parameters."""
    services, models = Services(), Models([say("да"), call("rag_search", question="когда?", roles=["admin"])])

    async def ask(request: TurnModelRequest) -> ModelText:
        answer = await models.chat(request)
        return ModelText(text=answer.text, calls=answer.calls)

    async def say_nothing(_: Message) -> None:
        return None

    ports = RoundPorts(ask=ask, say=say_nothing, words=lambda one: one.code, services=services, settings=AgentSettings(), asker=asker)
    await run_round([Line("user", "когда?")], TOOLS, ports)
    assert services.asked[-1][2] == {"question": "когда?", "top_k": 2, **sent}


@pytest.mark.parametrize("is_down", [False, True])
async def test_records_are_found_by_their_names_and_a_portal_that_is_down_is_told(*, is_down: bool) -> None:
    """The deal is found among four kinds of records; nothing is written; an error of the portal is a sentence."""
    portal = Portal()
    if is_down:
        portal.will("crm.deal.list", *[says(403, {"error": "ACCESS_DENIED"})] * 3)
    client = BitrixClient(WEBHOOK, limiter=Limiter.create_unlimited(), transport=httpx.MockTransport(portal))
    rules = load_rules(Settings(_env_file=None), Engines())  # type: ignore[call-arg]  # pydantic-settings
    search = TitleSearch(PortalReader(client, rules[1], FixedClock(NOW)), close=client.aclose)
    found = await search.find_records("Ромашка")
    await search.aclose()
    if is_down:
        assert found.problem is not None
        assert found.problem.code == "ask-find-in-crm-failed"
    else:
        assert [row.label for table in found.tables for row in table.rows] == ["Ромашка"]
    assert portal.written() == []
