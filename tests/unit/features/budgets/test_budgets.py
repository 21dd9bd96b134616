"""Budgets of the model: counted per person and month from the journal, told at 80 %, and kept to at 100 %."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.domain.actor import Actor
from orchestrator.domain.budget import Budget, Limits, Price, find_month_start, to_month
from orchestrator.domain.errors import ModelClientError, SettingsError
from orchestrator.features.budgets.model_budget import PAGE, UsageReader, UsageTotals, sum_since
from orchestrator.gate.call.policy import load_policy
from state.events.conversation import ModelAnswered
from state.journal.store import Commit
from tests.unit.spine_kit import ANNA, BORIS, NOW, World, a_world, codes_of, command, message, press, raise_sum, reply, step

PHONE = Actor(key="tg:2007", name="Анна", bitrix_user_id=7)
SITE = Actor(key="http:site", name="site", sees="all")
PRICES = {"scripted": Price(input=100, output=1000)}


def said(world: World) -> list[str]:
    return [code for row in world.outbox() for code in codes_of(row)]


async def ask(world: World, actor: Actor = ANNA) -> list[str]:
    """One request in words that the model answers with 15 tokens, if it is asked at all."""
    await world.work(message("что нового?", actor=actor, key=actor.key))
    return said(world)


class TestRules:
    """The part of the policy."""

    @pytest.mark.parametrize(
        ("given", "fault"),
        [
            ({"tokens_per_month": -1}, "tokens_per_month"),
            ({"money_per_month": 5}, "needs `prices`"),
            ({"people": {"anna": {}}}, "people"),
            ({"people": {"tg:1": {"tokens": 5}}}, "no such key"),
            ({"prices": {"gpt": {"input": 1}}}, "is missing"),
            ({"currency": "rub"}, "currency"),
            ({"token_per_month": 5}, "Did you mean 'tokens_per_month'?"),
        ],
    )
    def test_a_fault_is_named_with_its_line(self, tmp_path: Path, given: dict[str, Any], fault: str) -> None:
        """As every other fault of the policy."""
        import yaml  # noqa: PLC0415 - only here

        path = tmp_path / "mine.yaml"
        path.write_text(yaml.safe_dump({"budget": given}), encoding="utf-8")
        with pytest.raises(SettingsError) as why:
            load_policy(path)
        assert fault in why.value.reason
        assert "mine.yaml: line " in why.value.reason

    def test_single_people_have_limits_of_their_own(self) -> None:
        """By employee, by account or by token; what is not named there holds from above."""
        budget = Budget(
            tokens_per_month=10,
            money_per_month=5,
            prices=PRICES,
            people={"employee:7": Limits(tokens_per_month=None), "http:site": Limits(tokens_per_month=1, money_per_month=None)},
        )
        assert (budget.find_limits(ANNA).tokens_per_month, budget.find_limits(PHONE).money_per_month) == (None, 5)
        assert (budget.find_limits(SITE).tokens_per_month, budget.find_limits(SITE).money_per_month) == (1, None)
        assert budget.find_limits(BORIS).tokens_per_month == 10

    def test_money_is_counted_by_the_price_of_the_longest_name(self) -> None:
        """A dated version costs what its model costs; an unknown one only its tokens, and ops are told."""
        budget = Budget(money_per_month=1, prices={"gpt": Price(input=1, output=1), "gpt-mini": Price(input="0.5", output=2)})
        assert str(budget.calculate_cost({"gpt-mini-2026-01": (1_000_000, 500_000), "other": (9**9, 0)})) == "1.5"
        assert budget.calculate_percent({"gpt-mini": (0, 495_000)}, budget) == 99
        assert budget.calculate_percent({"GPT": (0, 1_000_000)}, budget) == 100
        assert "other" in budget.describe_unpriced("other")
        assert budget.describe_unpriced("gpt-mini@7") == ""
        assert Budget(tokens_per_month=0).calculate_percent({}, Limits(tokens_per_month=0)) == 100
        with pytest.raises(ValidationError):
            Price(input=-1, output=1)

    @pytest.mark.parametrize(
        ("moment", "zone", "month"),
        [
            ("2026-11-30T20:59:00+00:00", "Europe/Moscow", 202611),
            ("2026-11-30T21:00:00+00:00", "Europe/Moscow", 202612),
            ("2026-12-01T07:59:00+00:00", "America/Los_Angeles", 202611),
            ("2026-12-31T13:00:00+00:00", "Asia/Kamchatka", 202701),
        ],
    )
    def test_a_month_is_that_of_the_persons_zone(self, moment: str, zone: str, month: int) -> None:
        """And whoever counts begins before it began anywhere."""
        at = datetime.fromisoformat(moment)
        assert to_month(at, zone) == month
        assert to_month(find_month_start(at), zone) <= month
        assert at - find_month_start(at) < timedelta(days=32, hours=15)


class TestTurns:
    """What people meet."""

    @pytest.mark.req("S004-54")
    async def test_one_warning_then_one_sentence_and_everything_else_goes_on(self, tmp_path: Path) -> None:
        """Five answers of 15 tokens fill 75: the fourth warns, the sixth request is not asked; cards and commands work."""
        async with a_world(tmp_path, policy={"budget": {"tokens_per_month": 75}}) as world:
            world.model.will(reply(raise_sum(), text="Меняю."), *[reply(text="Вот.")] * 4)
            told = [await ask(world) for _ in range(6)]
            assert [codes.count("budget-warn") for codes in told] == [0, 0, 0, 1, 0, 0]
            assert told[5] == ["budget-over"]
            assert [item.data["reason"] for item in world.events("TurnFinished")][-1] == "budget"
            assert len(world.events("BudgetWarned")) == 1

            world.model.will(reply(text="Бориса это не касается."))
            assert "budget-over" not in await ask(world, BORIS)
            session = await world.session()
            (entry,) = session.state.agent.confirmations.values()
            await session.close()
            await world.work(press(entry), command("pending"), command("status"))
            codes = said(world)
            assert "card:executed" in codes
            assert {"status", "budget-used"} <= set(codes)
            assert len(world.portal.written("crm.deal.update")) == 1

    async def test_a_turn_that_crosses_the_limit_asks_no_more_and_says_what_was_done(self, tmp_path: Path) -> None:
        """Its next question to the model is not asked; one final message tells, with the change that was made."""
        async with a_world(tmp_path, policy={"budget": {"tokens_per_month": 15}}) as world:
            world.model.will(reply(step("crm.deal.update", {"id": 481, "fields": {"COMMENTS": "звонил"}})))
            assert await ask_to(world, "запиши в сделку 481: звонил") == ["budget-over", "made", "done-already"]
            assert len(world.portal.written("crm.deal.update")) == 1

    async def test_two_accounts_share_one_budget_and_tokens_have_their_own(self, tmp_path: Path) -> None:
        """A person is an employee, whatever they write from; a token is itself."""
        async with a_world(tmp_path, policy={"budget": {"tokens_per_month": 30}}) as world:
            world.model.will(*[reply(text="Вот.")] * 2)
            await ask(world)
            await ask(world, PHONE)
            assert await ask(world) == ["budget-over"]
            assert await ask(world, PHONE) == ["budget-over"]
            world.model.will(reply(text="Вот."))
            await world.work(message("что нового?", actor=SITE, key="http:site:1"))
            assert "budget-over" not in [code for row in world.outbox("http") for code in codes_of(row)]

    async def test_failures_cost_nothing_and_a_new_month_begins_anew(self, tmp_path: Path) -> None:
        """Only answers are counted; on the first of the month in the person's zone the model is asked again."""
        async with a_world(tmp_path, policy={"budget": {"tokens_per_month": 15}}) as world:
            world.model.will(ModelClientError("down"), reply(text="Вот."))
            assert await ask(world) == ["degraded"]
            await ask(world)
            assert await ask(world) == ["budget-over"]
            world.clock.advance(datetime(2026, 11, 30, 21, 0, tzinfo=UTC) - world.clock.now())
            world.model.will(reply(text="Вот."))
            assert "budget-over" not in await ask(world)

    async def test_without_a_budget_nothing_is_read(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """The journal is not touched for people without limits."""
        monkeypatch.setattr(world.sql, "scan_clear", None)
        world.model.will(reply(text="Вот."))
        assert "reply" in await ask(world)


class TestUsage:
    """The projection."""

    async def test_it_reads_on_and_counts_nothing_twice(self, world: World) -> None:
        """Over pages, over the overlap, and again from the beginning it comes to the same."""
        session = await world.session()
        wall = datetime.now(UTC)
        usage = UsageReader(world.store, lambda: wall)
        answer = ModelAnswered(turn_id="t", iteration=1, text="x", model="m", prompt_tokens=3, completion_tokens=2, user=7, month=202611)
        for _ in range(3):
            lease = session._lease
            await world.store.commit(Commit(stream=session.stream, epoch=lease.epoch, actor="tg:1007", now=NOW, events=[answer] * 900))
            totals = await usage.refresh(NOW)
            totals = await usage.refresh(NOW)
            wall += timedelta(seconds=5)
        assert totals.sum_by_model("employee:7", 202611) == {"m": (8100, 5400)}
        assert sum_since(world.sql, find_month_start(wall)).sum_by_model("employee:7", 202611) == {"m": (8100, 5400)}
        assert PAGE < 2700
        assert len(usage._recent) <= 2700

    def test_old_months_are_forgotten(self) -> None:
        """Memory does not grow with time."""
        totals = UsageTotals()
        totals._used = {("a", 202609): {"m": (1, 1)}, ("a", 202611): {"m": (2, 2)}}
        totals._warned = {("a", 202609)}
        totals.discard_before(202610)
        assert totals.list_months() == [202611]
        assert not totals.has_warning("a", 202609)


async def ask_to(world: World, words: str) -> list[str]:
    await world.work(message(words))
    return said(world)
