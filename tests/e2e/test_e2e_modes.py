"""Shadow, canary and full: what runs, what asks, what is only planned, and what the person is told of it."""

import pytest

from state.journal.journal import load_state
from tests.e2e.e2e_kit import World, texts


@pytest.mark.req("S004-38", "S004-39", "S004-X12", "S004-79")
async def test_shadow_runs_nothing_and_shows_the_plan(world: World) -> None:
    """No call that the model proposed reaches the portal; the plan is in the answer, the state, the journal and the audit log."""
    async with world.bot(agent_mode="shadow"):
        seen = await world.boris.ask("подними сумму сделки Ромашка до 150 000")
        assert len(seen) == 1
        assert seen[0].text.startswith("Теневой режим: ничего не отправлено и не изменено. Я бы сделал:")
        assert "Изменить сделку «Ромашка» — Сумма: 120 000 ₽ → 150 000 ₽" in seen[0].text
        assert seen[0].buttons == {}
        assert await world.writes() == []
        finished = next(event for event in await world.events(world.boris) if event.type == "TurnFinished")
        (planned,) = finished.data["next_planned_actions"]
        assert (planned["method"], planned["params"]["id"]) == ("crm.deal.update", 481)
        (record,) = [record for record in world.audit() if record["type"] == "iteration"]
        assert record["mode"] == "shadow"
        assert record["state"]["next_planned_actions"][0]["method"] == "crm.deal.update"
        assert record["executed_actions"][0]["status"] == "planned"

        before = len(await world.calls())
        listed = await world.boris.ask("покажи мои сделки")
        assert "Теневой режим" in texts(listed)
        assert [call for call in (await world.calls())[before:] if call["params"].get("order")] == []
        system = (await world.prompts())[-1]["messages"][0]["content"]
        assert "Mode: shadow" in system


@pytest.mark.req("S004-28", "S004-A3", "S004-3")
async def test_canary_creates_or_asks_and_refuses_changes(world: World) -> None:
    """A create without risk runs, one with a sum asks, an update is refused with its reason."""
    async with world.bot(agent_mode="canary"):
        free = await world.boris.ask("создай задачу мне на завтра: позвонить клиенту")
        assert not any(message.is_card for message in free)
        assert await world.writes() == ["tasks.task.add"]

        card = await world.boris.card("создай сделку Лютик на 300 000")
        assert "Лютик" in card.text
        await world.boris.decide(card, "Выполнить")
        assert await world.writes() == ["tasks.task.add", "crm.deal.add"]

        refused = await world.boris.ask("подними сумму сделки Ромашка до 150 000")
        assert "осторожном режиме" in texts(refused)
        assert not any(message.is_card for message in refused)
        assert await world.writes() == ["tasks.task.add", "crm.deal.add"]


@pytest.mark.req("S004-74")
async def test_canary_looks_at_subscriptions_and_makes_none(world: World) -> None:
    """An application may look at them; binding one waits for full mode."""
    async with world.bot(agent_mode="canary", **await world.application()):
        await world.olga.ask("покажи подписки")
        assert len(await world.calls("event.get")) == 1
        assert "осторожном режиме" in texts(await world.olga.ask("подпишись на создание сделок: https://hooks.example.com/x"))
        assert await world.writes() == []


ORDINARY = {
    "создай задачу мне на завтра: позвонить клиенту": ["tasks.task.add"],
    "добавь комментарий к сделке Ромашка: ждём договор": ["crm.timeline.comment.add"],
    "покажи мои сделки": [],
    "покажи сделку Ромашка": [],
    "создай контакт Пётр Иванов, телефон +7 916 123-45-67": ["crm.contact.add"],
    "просроченные сделки": [],
}


@pytest.mark.req("S004-79", "S004-33", "S004-10")
async def test_ordinary_requests_need_no_card_and_a_sum_needs_exactly_one(world: World) -> None:
    """In full mode what changes nothing of others runs at once; a changed sum asks once."""
    async with world.bot():
        for text, expected in ORDINARY.items():
            before = len(await world.writes())
            seen = await world.boris.ask(text)
            assert not any(message.is_card for message in seen), (text, texts(seen))
            assert (await world.writes())[before:] == expected, (text, texts(seen))
        await world.boris.card("подними сумму сделки Ромашка до 150 000")
        task = (await world.calls("tasks.task.add"))[0]["params"]["fields"]
        assert task["RESPONSIBLE_ID"] == 7


@pytest.mark.req("S004-37", "S004-73", "S004-75", "S004-76", "S004-36")
async def test_subscriptions_ask_and_go_to_listed_hosts_only(world: World) -> None:
    """An application binds after a press, and only to a listed host; what is bound is known from then on, and unbinding asks too."""
    policy = world.folder / "policy.yaml"
    policy.write_text("event_handler_hosts: [hooks.example.com]\n", encoding="utf-8")
    async with world.bot(policy_file=policy, **await world.application()) as running:
        foreign = await world.olga.ask("подпишись на создание сделок: https://evil.example.net/x")
        assert "evil.example.net" in texts(foreign).replace("\u2060", "")  # named, and dead: nobody can tap it
        assert not any(message.is_card for message in foreign)
        assert await world.writes() == []

        for text, method, bound in (("подпишись на", "event.bind", 1), ("отпишись от", "event.unbind", 0)):
            card = await world.olga.card(f"{text} создание сделок: https://hooks.example.com/x")
            assert [line for line in await world.writes() if line == method] == []
            await world.olga.decide(card, "Выполнить")
            assert (await world.writes())[-1] == method
            state, _ = await running.store.read(load_state, f"session:{world.olga.session}")
            assert len(state.agent.event_bindings) == bound
