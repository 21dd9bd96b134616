"""Restores the demo: for one scene of its tour the deals, open cards and safety mode that the scene needs, or everything («start over»)."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx

from sandbox.demo.installation import Installation, Language, Mode
from sandbox.demo.processes import Child

Found = TypeVar("Found")
_ENGINES: Final = Path(__file__).resolve().parents[2] / "engines"
"""The folders of the bot's engines, each with its examples. The demo reads the files and imports nothing of them."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """A definition that the demo's bot has from its first minute: a file of the examples, whose name is its key."""

    kind: str
    file: Path


def _list_examples(kind: str, folder: str) -> tuple[Example, ...]:
    """Return the definitions in a folder of the examples, without their tests."""
    files = sorted((_ENGINES / folder).glob("*.yaml"))
    return tuple(Example(kind=kind, file=file) for file in files if not file.stem.endswith(".test"))


SCENARIOS: Final = tuple(
    Example(kind="scenario", file=file)
    for key in ("lead_qualification", "discount_approval")
    if (file := _ENGINES / "scenarios" / "examples" / f"{key}.yaml").is_file()
)
"""What the bot offers with /run."""
AGENTS: Final = _list_examples("agent", "flows/examples/agents")
FLOWS: Final = _list_examples("flow", "flows/examples")
"""What the bot offers with /flow; their agents are published before them, for a flow names published ones."""
TUUMS: Final = _list_examples("tuum", "workflows/examples/tuums")
WORKFLOWS: Final = _list_examples("workflow", "workflows/examples")
"""What the bot offers with /workflow; the tuums that stand on their own are published before them."""
_PATIENCE = 120.0
"""Seconds that even a busy machine needs for a start of the bot."""


class SceneFailed(RuntimeError):
    """A scene could not be prepared or completed; the message is a code of the page's texts."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The running demo: the bot's process, its installation, and the mode in which the visitor started it."""

    bot: Child
    installation: Installation
    mode: Mode

    def locate(self, server: str) -> str:
        """Return the address of a server: "portal", "telegram" or "model"."""
        return self.installation.addresses[server]


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a scene needs: the person who acts in it, the deals that get their seeded values back, and why open cards are denied."""

    person: int
    deals: Sequence[int] = ()
    reason: str = ""


async def prepare_scene(client: httpx.AsyncClient, stage: Stage, needs: Needs) -> None:
    """Prepare a scene: let the bot write, deny open cards of the person or about the deals, and give the deals their seeded values back.

    `needs` names the person and the deals. Scenarios of the person that wait are cancelled, since they would take what the scene writes.
    Faults that were ordered in the portal are removed.
    """
    await _set_mode(client, stage, "full")
    await _call_api(client, stage, "POST", "/freeze", {"frozen": False})
    await _cancel_runs(client, stage, needs.person)
    await _close_cards(client, stage, needs)
    await client.delete(f"{stage.locate('portal')}/sandbox/faults")
    if needs.deals:
        wanted = {"entity": "deal", "ids": list(needs.deals)}
        (await client.post(f"{stage.locate('portal')}/sandbox/restore", json=wanted)).raise_for_status()


async def start_over(client: httpx.AsyncClient, stage: Stage) -> None:
    """Bring the demo back to its start: empty chats, journal and audit log, and the seeded portal.

    The bot starts in the safety mode in which the visitor started the demo.
    """
    await stage.bot.stop()
    for address in (stage.locate("portal"), stage.locate("telegram")):
        (await client.post(f"{address}/sandbox/reset")).raise_for_status()
    installation = stage.installation
    installation.forget_everything()
    installation.mode = stage.mode
    await installation.authorize(client)
    await _set_telegram_language(client, stage)
    await start_bot(client, stage)
    await publish_examples(client, stage)


async def publish_examples(client: httpx.AsyncClient, stage: Stage) -> None:
    """Publish the demo's scenarios, agents, flows, tuums and workflows over the bot's API, as an administrator would.

    What is stored already is left alone, and so is everything of a kind that the program does not have.
    """
    for one in (*SCENARIOS, *AGENTS, *FLOWS, *TUUMS, *WORKFLOWS):
        path = f"/definitions/{one.kind}"
        if "error" not in await _call_api(client, stage, "GET", f"{path}/{one.file.stem}"):
            continue
        body = {"key": one.file.stem, "text": one.file.read_text(encoding="utf-8")}
        stored = await _call_api(client, stage, "POST", path, body)
        if "error" not in stored:
            publish = f"{path}/{one.file.stem}/versions/{stored['version']}/publish"
            await _call_api(client, stage, "POST", publish, {"note": ""}, revision=stored["revision"])


async def set_language(client: httpx.AsyncClient, stage: Stage, language: Language) -> None:
    """Set the language in which the bot speaks to everybody who chose none.

    The bot is restarted: a running one would tell its administrators that the list of people has changed.
    """
    if stage.installation.language == language:
        return
    await stage.bot.stop()
    stage.installation.language = language
    await _set_telegram_language(client, stage)
    await start_bot(client, stage)


async def start_bot(client: httpx.AsyncClient, stage: Stage) -> None:
    """Start the bot with its installation and wait until it asks Telegram for updates. Raises SceneFailed if that takes too long."""
    requests = f"{stage.locate('telegram')}/sandbox/requests"
    seen = (await client.get(requests)).json()["requests"]
    after = seen[-1]["seq"] if seen else 0
    stage.installation.write_files()
    stage.bot.start(stage.installation.build_environment())

    async def polls() -> bool:
        fresh = (await client.get(requests, params={"after": after})).json()["requests"]
        return any(item.get("method", "").lower() == "getupdates" for item in fresh)

    await wait_for(polls, "no-restart", seconds=_PATIENCE)


async def wait_for(look: Callable[[], Awaitable[Found | None]], failure: str, *, seconds: float = 40.0) -> Found:
    """Call `look` again and again, and return its first true result.

    Raises SceneFailed with the code `failure` if there is none within `seconds`.
    """
    try:
        async with asyncio.timeout(seconds):
            while not (found := await look()):  # noqa: ASYNC110 - what is awaited lives in other processes
                await asyncio.sleep(0.1)
            return found
    except TimeoutError:
        raise SceneFailed(failure) from None


async def _set_mode(client: httpx.AsyncClient, stage: Stage, mode: Mode) -> None:
    if stage.installation.mode != mode:
        await stage.bot.stop()
        stage.installation.mode = mode
        await start_bot(client, stage)


async def _cancel_runs(client: httpx.AsyncClient, stage: Stage, person: int) -> None:
    """Cancel the runs of the person that wait for something."""
    for run in (await _call_api(client, stage, "GET", "/runs?status=waiting&limit=100"))["runs"]:
        if run["owner"]["id"] == f"tg:{person}":
            await _call_api(client, stage, "POST", f"/runs/{run['id']}/cancel")


async def _close_cards(client: httpx.AsyncClient, stage: Stage, needs: Needs) -> None:
    """Deny, over the bot's own API, the open cards of the person and about the deals that `needs` names."""
    about = {f'"deal:{number}"' for number in needs.deals}
    cursor = ""
    while True:
        query = f"?state=requested&limit=100{f'&cursor={cursor}' if cursor else ''}"
        page = await _call_api(client, stage, "GET", f"/confirmations{query}")
        for card in page["confirmations"]:
            if card["session"] == f"tg:{needs.person}" or any(name in json.dumps(card) for name in about):
                decision = {"decision": "deny", "fingerprint": card["fingerprint"], "reason": needs.reason}
                await _call_api(client, stage, "POST", f"/confirmations/{card['id']}", decision)
        cursor = page["next"] or ""
        if not cursor:
            return


async def _call_api(client: httpx.AsyncClient, stage: Stage, method: str, path: str, body: Any = None, *, revision: int = 0) -> Any:
    """Call the bot's HTTP API and return its answer, parsed from JSON.

    `revision` is that of the definition which the call changes. The call is repeated until the API can be reached, because it may start a
    moment after the bot's Telegram chat. Raises SceneFailed if it cannot be reached in time or answers with a server error.
    """
    headers = {"X-API-Key": stage.installation.tokens["tour"], **({"If-Match": f'"{revision}"'} if revision else {})}

    async def answered() -> httpx.Response | None:
        try:
            return await client.request(method, f"{stage.installation.api}{path}", headers=headers, json=body)
        except httpx.TransportError:
            return None

    answer = await wait_for(answered, "no-api")
    if answer.status_code >= 500:
        raise SceneFailed("no-api")
    return answer.json()


async def _set_telegram_language(client: httpx.AsyncClient, stage: Stage) -> None:
    body = {"language_code": stage.installation.language}
    (await client.post(f"{stage.locate('telegram')}/sandbox/language", json=body)).raise_for_status()
