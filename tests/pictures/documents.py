"""Scenes of the company's documents and of /ask. Played by name: their pictures have a folder of their own."""

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import httpx

import sandbox.demo
from sandbox.demo.installation import find_free_port
from tests.e2e.e2e_people import until
from tests.pictures.studio import Scene, Studio

_DOCUMENTS: Final = Path(sandbox.demo.__file__).parent / "documents"


async def ask(studio: Studio) -> None:
    """The tool agent: an answer with its quote closed and open, an honest nothing, and its other three tools."""
    await _begin(studio)
    boris = studio.world.boris
    await boris.ask("/ask когда звонить после КП?")
    await studio.shoot("ask", boris, is_small=True)
    await studio.shoot("ask-open", boris, is_small=True, is_open=True)
    await boris.ask("/ask сколько стоит монтаж?")
    await studio.shoot("price", boris, last=2, is_small=True, is_open=True)
    await boris.ask("/ask сколько живут зебры?")
    await boris.ask("/ask посчитай 150000 + 20%")
    await studio.shoot("calculate", boris, last=4, is_small=True)
    await boris.ask("/ask хайку про сделку")
    await studio.shoot("haiku", boris, last=2, is_small=True)
    await boris.ask("/ask найди сделку Вектор")
    await studio.shoot("find", boris, last=2, is_small=True)


async def documents(studio: Studio) -> None:
    """The CRM agent: a question in an ordinary conversation, one that goes on with it, and one with a task behind it."""
    await _begin(studio)
    boris, vera = studio.world.boris, studio.world.vera
    await boris.ask("по регламенту, когда звонить после КП?")
    await studio.shoot("conversation", boris, is_small=True)
    await studio.shoot("conversation-open", boris, is_small=True, is_open=True)
    await boris.ask("какая скидка по политике?")
    await boris.ask("а для новых клиентов?")
    await studio.shoot("goes-on", boris, last=4, is_small=True)
    await boris.ask("посмотри в регламенте, когда звонить после КП, и поставь задачу")
    await studio.shoot("task", boris, last=2, is_small=True, is_open=True)
    await vera.ask("what does the handbook say about new clients?")
    await studio.shoot("en", vera, last=2, is_small=True, is_open=True)


async def _begin(studio: Studio) -> None:
    """Start the bot anew beside a document service with the documents of the demo, which has read them."""
    await studio.bot.aclose()
    token, port = secrets.token_urlsafe(24), find_free_port()
    served = {"rag_service_token": token, "rag_service_url": f"http://127.0.0.1:{port}"}
    arguments = ("services", "rag", "--docs", str(_DOCUMENTS), "--port", str(port))
    await studio.bot.enter_async_context(studio.world.process(*arguments, rag_service_token=token))
    async with httpx.AsyncClient(base_url=served["rag_service_url"], trust_env=False) as http:

        async def is_ready() -> bool:
            try:
                return (await http.get("/health")).status_code == 200
            except httpx.TransportError:
                return False

        await until(is_ready, "the document service")
    await studio.begin(**served)


SCENES: Final[Sequence[Scene]] = (ask, documents)
