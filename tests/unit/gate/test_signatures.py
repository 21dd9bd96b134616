"""Messages go out in the name of the webhook's owner: the card says so, and the text begins with the name of the person who asks."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Pending
from state.model.card import Card
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import effect

OWNER = Actor(key="tg:1001", name="Ольга", bitrix_user_id=1, sees="all")
BORIS = Actor(key="tg:1007", name="Борис", bitrix_user_id=7, sees="all")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """Employee 1 owns the webhook."""
    async with a_desk(tmp_path) as made_desk:
        yield made_desk


async def ask(desk: Desk, method: str, params: dict[str, Any], actor: Actor) -> tuple[Card, Pending]:
    desk.count += 1
    pending = await desk.world.submit(desk.session, effect(method, params, slot=f"t1/1/{desk.count}"), actor=actor)
    assert isinstance(pending, Pending), pending
    return desk.card(pending), pending


def read_lines(entry: Card) -> dict[str, str]:
    parts = [entry.preview, *entry.preview["items"]]
    return {line["field"]: line["after"] for part in parts for line in part["lines"]}


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("im.message.add", {"DIALOG_ID": "8", "MESSAGE": "аванс пришёл"}, "MESSAGE"),
        ("im.notify.personal.add", {"USER_ID": 8, "MESSAGE": "аванс пришёл"}, "MESSAGE"),
        ("log.blogpost.add", {"POST_MESSAGE": "аванс пришёл", "DEST": ["U8"]}, "POST_MESSAGE"),
    ],
)
async def test_a_message_begins_with_who_asks_for_it(desk: Desk, method: str, params: dict[str, Any], field: str) -> None:
    """What the card shows is what is sent; whose account sends it tells no more than the name."""
    name = (await desk.ask("user.get", FILTER={"ID": 7}))[0]
    person = f"{name['NAME']} {name['LAST_NAME']}"
    entry, pending = await ask(desk, method, params, BORIS)
    lines = read_lines(entry)
    assert lines[field] == f"{person}: аванс пришёл"
    assert "SENDER" not in lines
    await desk.approve(pending)
    sent = [params for called, params in desk.wire.writes() if called == method]
    assert [params[field] for params in sent] == [f"{person}: аванс пришёл"]


async def test_a_text_that_begins_so_is_not_signed_again(desk: Desk) -> None:
    """Neither one that the model signed nor the stored call of an approved card."""
    name = (await desk.ask("user.get", FILTER={"ID": 7}))[0]
    text = f"{name['NAME']} {name['LAST_NAME']}: аванс пришёл"
    entry, _ = await ask(desk, "im.message.add", {"DIALOG_ID": "8", "MESSAGE": text}, BORIS)
    assert read_lines(entry)["MESSAGE"] == text


async def test_the_owner_of_the_webhook_signs_nothing(desk: Desk) -> None:
    """Their messages carry their name anyway."""
    entry, _ = await ask(desk, "im.message.add", {"DIALOG_ID": "8", "MESSAGE": "аванс пришёл"}, OWNER)
    assert read_lines(entry)["MESSAGE"] == "аванс пришёл"
    assert "SENDER" not in read_lines(entry)


async def test_commands_of_a_batch_are_signed(desk: Desk) -> None:
    """Each one, and a command that tells nobody anything stays as it was."""
    cmd = {"a": "im.message.add?DIALOG_ID=8&MESSAGE=привет", "b": "crm.deal.get?id=423"}
    entry, pending = await ask(desk, "batch", {"cmd": cmd}, BORIS)
    assert read_lines(entry)["MESSAGE"].endswith(": привет")
    assert (await desk.approve(pending)).status == "succeeded"


async def test_a_portal_that_does_not_say_who_sends_is_no_reason_to_send_unsigned(desk: Desk) -> None:
    """Who the message is from stands in its text."""
    desk.wire.instead["profile"] = httpx.Response(403, json={"error": "ACCESS_DENIED", "error_description": "Access denied"})
    entry, _ = await ask(desk, "im.message.add", {"DIALOG_ID": "8", "MESSAGE": "привет"}, OWNER)
    assert read_lines(entry)["MESSAGE"].endswith(": привет")
    assert "SENDER" not in read_lines(entry)


async def test_whoever_has_no_account_of_the_portal_signs_even_so(desk: Desk) -> None:
    """Neither sender nor person is known by number: that does not make them the same."""
    desk.wire.instead["profile"] = httpx.Response(403, json={"error": "ACCESS_DENIED", "error_description": "Access denied"})
    stranger = Actor(key="tg:1009", name="Зоя", role="lead", sees="all")
    entry, _ = await ask(desk, "im.message.add", {"DIALOG_ID": "8", "MESSAGE": "привет"}, stranger)
    assert read_lines(entry)["MESSAGE"] == "Зоя: привет"


async def test_a_text_signed_with_the_short_name_is_not_signed_again(desk: Desk) -> None:
    """The portal did not tell the whole name when the card was drawn: what is sent is what stood there."""
    desk.wire.instead["user.get"] = httpx.Response(403, json={"error": "ACCESS_DENIED", "error_description": "Access denied"})
    entry, pending = await ask(desk, "im.message.add", {"DIALOG_ID": "8", "MESSAGE": "привет"}, BORIS)
    assert read_lines(entry)["MESSAGE"] == "Борис: привет"
    desk.wire.instead.clear()
    assert (await desk.approve(pending)).status == "succeeded"
    assert [params["MESSAGE"] for called, params in desk.wire.writes() if called == "im.message.add"] == ["Борис: привет"]


async def test_a_call_that_tells_nobody_anything_reads_no_account(desk: Desk) -> None:
    """The line stands on messages only."""
    entry, _ = await ask(desk, "crm.deal.update", {"id": 423, "fields": {"OPPORTUNITY": 5}}, BORIS)
    assert "SENDER" not in read_lines(entry)
