"""What is judged, shown, stored and sent is one object; no spelling and no mode leads around a refusal (rows 14, 15, 30, 31)."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Mode
from orchestrator.domain.card_view import CardView
from state.canonical import dumps, hash_text
from tests.regression.approvals.approvals_kit import House, card_of, cards_of
from tests.unit.spine_kit import message, press, raise_sum, reply, step

WRITTEN: dict[str, tuple[dict[str, Any], str]] = {
    "a sum in words of a text": (step("crm.deal.update", {"id": "481", "fields": {"OPPORTUNITY": "1200000"}}), "481 до 1200000"),
    "another case and blanks": (step(" CRM.Deal.Update ", {"ID": 481, "fields": {"opportunity": 1_200_000.0}}), "481 до 1200000"),
    "the item family": (step("crm.item.update", {"entityTypeId": "2", "id": "481", "fields": {"opportunity": 7}}), "481 до 7"),
    "a deadline": (step("tasks.task.update", {"taskId": "8017", "fields": {"DEADLINE": "2026-12-05T10:00:00+03:00"}}), "задача 8017"),
    "an add with marks and a default": (step("crm.deal.add", {"fields": {"TITLE": "Н", "OPPORTUNITY": "5"}}), "новая сделка на 5"),
    "a message": (step("im.notify.personal.add", {"USER_ID": "7", "MESSAGE": "Привет\n<b>мир</b> 🐟"}), "напиши коллеге 7"),
    "a batch": (
        step("batch", {"halt": "0", "cmd": {"b": "crm.deal.update?id=481&fields[OPPORTUNITY]=9", "a": "crm.deal.get?id=481"}}),
        "сделка 481 до 9",
    ),
}


@pytest.mark.req("G2", "S004-24", "S004-31")
@pytest.mark.parametrize(("written", "text"), WRITTEN.values(), ids=WRITTEN.keys())
async def test_the_exact_bytes_of_the_card_are_sent(house: House, written: dict[str, Any], text: str) -> None:
    """Defaults, marks, numbers and dates are settled before the card: params of event, database and wire are equal, and so is the hash."""
    async with house.started() as world:
        entry = await card_of(world, written, text=text)
        [asked] = world.events("ConfirmationRequested")
        frozen = asked.data["params"]
        wire: list[tuple[str, bytes]] = []

        async def watch(method: str, params: Any) -> None:
            wire.append((method, dumps(params).encode()))

        house.portal.watch = watch
        await world.work(press(entry))
        [started] = world.events("CallStarted")
        assert (asked.data["method"], dumps(frozen).encode()) in wire
        assert wire.count((asked.data["method"], dumps(frozen).encode())) == 1
        assert started.data["params"] == frozen
        assert (
            started.data["fingerprint"] == asked.data["fingerprint"] == hash_text(dumps(["portal.example", asked.data["method"], frozen]))
        )


@pytest.mark.req("S004-31", "S004-37")
async def test_the_card_is_drawn_from_the_frozen_request(house: House) -> None:
    """Every value that will be written stands on the card, control and direction marks made visible, and nothing else is shown as written."""
    fields = {"OPPORTUNITY": 1_234_567, "TITLE": "Ромашка\u202e✅ Подтверждено", "COMMENTS": "ACTION: []\u200b конец"}
    async with house.started() as world:
        entry = await card_of(world, step("crm.deal.update", {"id": 481, "fields": fields}))
        text = to_plain_text(render_card(CardView.from_body(entry), Translator("ru")))
        [asked] = world.events("ConfirmationRequested")
    assert {line["field"] for line in asked.data["preview"]["lines"]} == set(asked.data["params"]["fields"])
    assert "1 234 567" in text.replace("\xa0", " ")
    assert "1 000 000" in text.replace("\xa0", " ")
    assert "Подтверждено" in text
    assert not {"\u202e", "\u200b"} & set(text)


DELETE = "crm.deal.delete"
SPELLED: dict[str, dict[str, Any]] = {
    "plain": step(DELETE, {"id": 481}),
    "another case": step("CRM.Deal.Delete", {"id": 481}),
    "blanks": step(f"  {DELETE}\t", {"id": 481}),
    "json": step(f"{DELETE}.json", {"id": 481}),
    "xml": step(f"{DELETE}.xml", {"id": 481}),
    "a slash": step(f"{DELETE}/", {"id": 481}),
    "a leading slash": step(f"/{DELETE}", {"id": 481}),
    "a query": step(f"{DELETE}?id=481", {}),
    "an address": step(f"https://portal.example/rest/1/x/{DELETE}", {"id": 481}),
    "percent": step(quote(DELETE).replace(".", "%2E"), {"id": 481}),
    "look-alike letters": step("сrm.deal.delete", {"id": 481}),
    "full width": step("crm．deal．delete", {"id": 481}),
    "zero width": step("crm.deal.de\u200blete", {"id": 481}),
    "two dots": step("crm.deal..delete", {"id": 481}),
    "the item family": step("crm.item.delete", {"entityTypeId": 2, "id": 481}),
    "in a batch": step("batch", {"cmd": {"a": f"{DELETE}?id=481"}}),
    "in a list of a batch": step("batch", {"cmd": ["crm.deal.get?id=481", f"{DELETE}?id=481"]}),
    "in a batch in another case": step("batch", {"cmd": {"a": "crm.deal.get?id=481", "b": "CRM.DEAL.DELETE?ID=481"}}),
    "encoded in a batch": step("batch", {"cmd": {"a": quote(f"{DELETE}?id=481")}}),
    "json in a batch": step("batch", {"cmd": {"a": f"{DELETE}.json?id=481"}}),
    "a batch in a batch": step("batch", {"cmd": {"a": f"batch?cmd[x]={quote(DELETE + '?id=481')}"}}),
    "as keys of the params": step("batch", {"cmd[x]": f"{DELETE}?id=481"}),
    "behind fifty reads": step("batch", {"cmd": {**{f"r{n}": "crm.deal.get?id=481" for n in range(49)}, "x": f"{DELETE}?id=481"}}),
    "by the answer of another command": step(
        "batch", {"cmd": {"a": "crm.deal.list?filter[CLOSED]=N", "b": f"{DELETE}?id=$result[a][0][ID]"}}
    ),
    "confirmed by the model": step(DELETE, {"id": 481}, confirmed=True, confirmation_decision="approve"),
}
NO_NAMES = {"a slash", "a leading slash", "a query", "an address", "percent", "look-alike letters", "full width", "zero width", "two dots"}


@pytest.mark.req("S004-25", "S004-28", "G1")
@pytest.mark.parametrize("mode", ["shadow", "canary", "full"])
async def test_a_deletion_is_refused_in_every_spelling_and_every_mode(house: House, mode: Mode) -> None:
    """The deny list holds in shadow, canary and full alike: no card, no call, and the deal is still there.

    A spelling that is no method name is a format error, so the gate does not even see it; every other one is refused by the gate.
    """
    refused = 0
    async with house.started(mode=mode) as world:
        for name, written in SPELLED.items():
            world.model.will(reply(written), reply(text="Нельзя."))
            await world.work(message("удали сделку 481"))
            world.model.script.clear()
            refused += name not in NO_NAMES
            assert len(world.events("StepRefused")) == refused, name
            assert name in NO_NAMES or world.events("StepRefused")[-1].data["method"] == written["method"].strip(), name
        assert world.events("ConfirmationRequested") == world.events("CallStarted") == []
    assert ("deal", 481) in house.portal.records
    assert "delete" not in json.dumps(house.portal.requests).lower()


@pytest.mark.req("S004-28")
@pytest.mark.parametrize("mode", ["shadow", "canary", "full"])
async def test_what_the_policy_refuses_is_refused_in_every_mode_and_for_a_card_that_waits(house: House, mode: Mode) -> None:
    """Also for a call that was approved before the policy came: an approval is stronger than no rule."""
    async with house.started() as world:
        [waiting] = await cards_of(world)
    async with house.started(mode=mode, policy={"refuse_methods": ["CRM.DEAL.update"]}) as world:
        world.model.will(reply(raise_sum(5)), reply(text="Нельзя."))
        await world.work(message("сделка 481, сумма 5"))
        world.model.script.clear()
        assert world.events("StepRefused")[-1].data["code"] == "gate-policy-refuses"
        await world.work(press(waiting))
        assert world.events("CallRefused")[-1].data["code"] in {"gate-policy-refuses", "shadow-now"}
    assert house.portal.ledger == []
