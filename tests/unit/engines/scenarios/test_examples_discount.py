"""The example "approval of a discount": a small one by the person's own card, a large one by a second person, as the policy says."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from tests.unit.engines.scenarios.example_kit import ANNA, FOLDER, Stage, a_stage

DEAL = 481
REASON = "Постоянный клиент, берёт второй раз"


def read_policy() -> dict[str, object]:
    """The rules that stand in the comment of the example itself."""
    lines = (FOLDER / "discount_approval.yaml").read_text(encoding="utf-8").splitlines()
    begin = lines.index("#   rules:")
    end = next(number for number in range(begin, len(lines)) if lines[number] == "#")
    rules: dict[str, object] = yaml.safe_load("\n".join(line.removeprefix("#   ") for line in lines[begin:end]))
    return rules


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """A company with the policy of the example, whose deals have the field of the discount, as those of the sandbox do."""
    async with a_stage(tmp_path, policy=read_policy()) as made:
        await made.run("discount_approval")
        yield made


async def ask_for(stage: Stage, percent: str) -> None:
    """Answer all questions."""
    await stage.say(str(DEAL))
    await (stage.choose(percent) if percent.endswith("%") else stage.say(percent))
    await stage.say("да", REASON)


async def test_a_small_discount_needs_the_own_card(stage: Stage) -> None:
    """120 000 less five per cent; the reason is in the timeline."""
    await ask_for(stage, "5 %")
    assert "Опишите причину хотя бы одним предложением." in stage.texts
    (card,) = stage.cards()
    assert (card.session, card.body["four_eyes"]) == ("tg:1007", False)
    assert stage.list_writes() == []
    await stage.decide()
    deal = await stage.ask_portal("crm.deal.get", id=DEAL)
    assert (deal["OPPORTUNITY"], deal["UF_CRM_DISCOUNT"] or None) == ("114000.00", None)
    assert (await stage.list_comments("deal", DEAL))[-1] == f"Скидка 5 % (подтвердил менеджер). Причина: {REASON}"
    assert (stage.last, stage.status) == ("Скидка 5 % записана, новая сумма сделки 114\u00a0000.", "done")
    assert len(stage.cards()) == 1


async def test_a_large_discount_is_decided_by_a_second_person(stage: Stage) -> None:
    """The manager's own press changes nothing; the lead's writes sum and field, once."""
    await ask_for(stage, "15 %")
    assert "Скидка больше 10 % — её подтверждает руководитель. Отправляю: 120\u00a0000 → 102\u00a0000." in stage.texts
    card = stage.cards()[-1].body
    assert card["four_eyes"]
    assert {"field": "UF_CRM_DISCOUNT", "name": "Скидка", "before": "—", "after": f"15 %: {REASON}"} in card["preview"]["lines"]
    await stage.decide()
    assert (stage.list_writes(), stage.status) == ([], "waiting")
    await stage.decide(by=ANNA)
    deal = await stage.ask_portal("crm.deal.get", id=DEAL)
    assert (deal["OPPORTUNITY"], deal["UF_CRM_DISCOUNT"]) == ("102000.00", f"15 %: {REASON}")
    assert (await stage.list_comments("deal", DEAL))[-1] == f"Скидка 15 % (согласовано). Причина: {REASON}"
    assert stage.list_writes() == ["crm.deal.update", "crm.timeline.comment.add"]


@pytest.mark.parametrize("percent", ["10 %", "25"])
async def test_a_denial_leaves_the_sum(stage: Stage, percent: str) -> None:
    """By the person or by the lead: nothing is written, not even the reason."""
    await ask_for(stage, percent)
    await stage.decide(approve=False, by=None if percent == "10 %" else ANNA)
    assert (stage.last, stage.list_writes()) == ("Скидка не согласована, сумма сделки прежняя: 120\u00a0000.", [])


async def test_a_lead_who_asks_needs_another_one(tmp_path: Path) -> None:
    """Four eyes hold for the lead's own discounts, too."""
    async with a_stage(tmp_path, person=ANNA, policy=read_policy()) as stage:
        await stage.run("discount_approval")
        await ask_for(stage, "15 %")
        await stage.decide()
        assert (stage.list_writes(), stage.status) == ([], "waiting")


async def test_without_the_policy_a_large_discount_is_the_managers_own(tmp_path: Path) -> None:
    """What the comment of the file warns of: the scenario alone can only demand a card."""
    async with a_stage(tmp_path) as stage:
        await stage.run("discount_approval")
        await ask_for(stage, "15 %")
        assert not stage.cards()[-1].body["four_eyes"]
        await stage.decide()
        assert (await stage.ask_portal("crm.deal.get", id=DEAL))["OPPORTUNITY"] == "102000.00"


async def test_ways_out(stage: Stage) -> None:
    """A percentage beyond the bounds, and «Отмена»."""
    await stage.say(str(DEAL), "90")
    assert "Нужно число от 0,5 до 40, без знака процента." in stage.texts
    await stage.choose("Отмена")
    assert (stage.last, stage.status, stage.list_writes()) == ("Остановился, сумма сделки не менялась.", "done", [])


async def test_a_deal_of_somebody_else(stage: Stage) -> None:
    """Not shown, not changed."""
    await stage.say("414")
    assert stage.last.startswith("Сделка 414 не открылась")
    assert stage.status == "done"
