"""Several changes of one deal's products in one plan, against the sandbox portal: what the cards say is what the portal then holds."""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.card_view import Preview
from orchestrator.domain.effect import Outcome, Pending
from orchestrator.gate.approve.card_groups import CardGroup, find_group
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.gate.approve.run_approved import DecisionResult
from state.model.card import Card
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import VERA, effect

DEAL = 410
MONTAGE = {"PRODUCT_NAME": "Монтаж", "PRICE": 777, "QUANTITY": 3}
SETUP = {"PRODUCT_NAME": "Настройка", "PRICE": 100, "QUANTITY": 2}
PUMP = {"productName": "Насос", "price": 60000, "quantity": 2}
PIPE = {"productName": "Труба", "price": 883.5, "quantity": 25}
WORK = {"productName": "Работа", "price": 8000, "taxRate": 20, "taxIncluded": "N"}
Step = tuple[str, Mapping[str, Any]]
DEARER: Step = ("crm.item.productrow.update", {"id": 1, "fields": {"price": 1000}})
MORE: Step = ("crm.item.productrow.update", {"id": 1, "fields": {"quantity": 5}})
GONE: Step = ("crm.item.productrow.delete", {"id": 2})
ALL: Step = ("crm.deal.productrows.set", {"id": DEAL, "rows": [{"PRODUCT_NAME": "Кабель", "PRICE": 12.5, "QUANTITY": 10}]})
TYPED = 265000


def add(row: Mapping[str, Any]) -> Step:
    return "crm.item.productrow.add", {"fields": {"ownerType": "D", "ownerId": DEAL, **row}}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A deal without products, and with a sum that somebody typed."""
    async with a_desk(tmp_path) as made:
        await made.world.client.call("crm.deal.update", {"id": DEAL, "fields": {"OPPORTUNITY": TYPED}})
        yield made


async def put(desk: Desk, *rows: Mapping[str, Any]) -> None:
    await desk.world.client.call("crm.deal.productrows.set", {"id": DEAL, "rows": list(rows)})


async def plan(desk: Desk, *steps: Step) -> list[Pending]:
    waiting = [await desk.wish(method, dict(params)) for method, params in steps]
    assert all(isinstance(one, Pending) for one in waiting), waiting
    return [one for one in waiting if isinstance(one, Pending)]


async def decide(desk: Desk, card: Card, *, approve: bool = True) -> DecisionResult:
    given = Decision(confirmation_id=card.confirmation_id, nonce=card.nonce, approve=approve, actor=VERA, via="button")
    decided = await desk.world.gate.decide_card(given, mode="full", ledger=desk.session)
    await desk.session.flush()
    return decided


def find_whole(desk: Desk, pending: Outcome | Pending) -> CardGroup:
    group = find_group(desk.card(pending), desk.session.state.cards)
    assert group is not None
    return group


def list_sums(preview: object) -> list[tuple[str, str, str]]:
    """(name, before, after) of all lines about the sum or its tax."""
    card = Preview.model_validate(preview)
    lines = [line for part in (card, *card.items) for line in part.lines if line.field.startswith("ROWS_")]
    return [(line.name, *(text.replace("\u00a0", " ") for text in (line.before, line.after))) for line in lines]


async def read_sum(desk: Desk) -> float:
    return float((await desk.ask("crm.deal.get", id=DEAL))["OPPORTUNITY"])


def to_number(text: str) -> float:
    return float(text.removesuffix(" ₽").replace(" ", "").replace(",", "."))


async def test_three_rows_of_one_plan_say_one_sum(desk: Desk) -> None:
    """The plan's card says the sum once, from what it is now to what the portal holds after all three."""
    steps = await plan(desk, add(PUMP), add(PIPE), add(WORK))
    whole = list_sums(find_whole(desk, steps[0]).merge().preview)
    assert whole == [("Сумма станет по товарам", "265 000 ₽", "150 087,50 ₽"), ("В том числе налог", "", "1 333,33 ₽")]
    for step in steps:
        assert (await decide(desk, desk.card(step))).outcome is not None
    assert await read_sum(desk) == to_number(whole[0][2])


async def test_a_step_says_that_its_sum_stands_after_those_above(desk: Desk) -> None:
    """Where a plan's cards are decided one by one, the second begins where the first ends, and says so."""
    steps = await plan(desk, add(PUMP), add(WORK))
    assert [list_sums(desk.card(step).preview)[0] for step in steps] == [
        ("Сумма станет по товарам", "265 000 ₽", "120 000 ₽"),
        ("Сумма товаров (после шагов выше)", "120 000 ₽", "128 000 ₽"),
    ]


async def test_rows_of_another_deal_are_none_of_this_one(desk: Desk) -> None:
    """Two deals in one plan: each card says its own sum, and no step above."""
    other = ("crm.item.productrow.add", {"fields": {"ownerType": "D", "ownerId": DEAL + 1, **PUMP}})
    steps = await plan(desk, other, add(WORK))
    assert list_sums(desk.card(steps[1]).preview)[0] == ("Сумма станет по товарам", "265 000 ₽", "8 000 ₽")


@pytest.mark.parametrize(
    "steps",
    [
        [add(PUMP), DEARER],
        [DEARER, add(PUMP)],
        [DEARER, MORE],
        [GONE, add(PUMP), DEARER],
        [DEARER, GONE],
        [DEARER, ALL],
        [ALL, add(PUMP)],
        [add(PUMP), ("crm.item.productrow.set", {"ownerType": "D", "ownerId": DEAL, "productRows": [WORK]}), add(PIPE)],
    ],
    ids=lambda steps: " ".join(method.rpartition(".")[2] for method, _ in steps),
)
async def test_the_sum_of_a_mixed_plan_is_what_the_portal_then_holds(desk: Desk, steps: Sequence[Step]) -> None:
    """Rows added, changed, deleted and replaced in one plan: one sum, which comes true without another question."""
    await put(desk, MONTAGE, SETUP)
    waiting = await plan(desk, *steps)
    sums = [line for line in list_sums(find_whole(desk, waiting[0]).merge().preview) if line[0] != "В том числе налог"]
    assert [before for _, before, _ in sums] == ["2 531 ₽"]
    for step in waiting:
        decided = await decide(desk, desk.card(step))
        assert decided.outcome is not None, decided
        assert decided.outcome.status == "succeeded"
    assert await read_sum(desk) == to_number(sums[0][2])


async def test_without_a_step_between_the_old_sum_is_not_shown(desk: Desk) -> None:
    """The middle row was left out: the plan says no sum that nobody has computed, and the last row asks again with the true one."""
    steps = await plan(desk, add(PUMP), add(PIPE), add(WORK))
    await decide(desk, desk.card(steps[1]), approve=False)
    assert list_sums(find_whole(desk, steps[0]).merge().preview) == []
    assert (await decide(desk, desk.card(steps[0]))).outcome is not None
    asked = await decide(desk, desk.card(steps[2]))
    assert asked.outcome is None
    assert asked.replaced_by is not None
    anew = desk.session.state.cards[asked.replaced_by.confirmation_id]
    assert list_sums(anew.preview)[0] == ("Сумма товаров", "120 000 ₽", "128 000 ₽")
    assert (await decide(desk, anew)).outcome is not None
    assert await read_sum(desk) == 128_000


async def test_a_step_approved_before_those_above_asks_once_more(desk: Desk) -> None:
    """Its sum rested on them: the new card says what it makes alone, and that comes true."""
    steps = await plan(desk, add(PUMP), add(WORK))
    asked = await decide(desk, desk.card(steps[1]))
    assert asked.replaced_by is not None
    anew = desk.session.state.cards[asked.replaced_by.confirmation_id]
    assert list_sums(anew.preview)[0] == ("Сумма станет по товарам", "265 000 ₽", "8 000 ₽")
    assert (await decide(desk, anew)).outcome is not None
    assert await read_sum(desk) == 8_000


async def test_a_new_value_of_a_step_is_drawn_in_its_place(desk: Desk) -> None:
    """Failed first: «✏ Изменить» of the last row said the sum as if the rows above were not there."""
    steps = await plan(desk, add(PUMP), add(WORK))
    method, params = add({**WORK, "price": 9000})
    changed = effect(method, params, slot="edit:1", in_place_of=desk.card(steps[1]).slot)
    edited = await desk.world.submit(desk.session, changed, actor=VERA)
    assert list_sums(desk.card(edited).preview)[0] == ("Сумма товаров (после шагов выше)", "120 000 ₽", "129 000 ₽")


async def test_commands_of_a_batch_say_one_sum(desk: Desk) -> None:
    """Failed before: a changed row counted in no sum of the rows added after it."""
    await put(desk, MONTAGE, SETUP)
    row = f"crm.item.productrow.add?fields[ownerType]=D&fields[ownerId]={DEAL}&fields[productName]=Насос&fields[price]=60000"
    change = "crm.item.productrow.update?id=1&fields[price]=1000"
    card = desk.card(await desk.wish("batch", {"halt": 0, "cmd": {"a": change, "b": row}}))
    assert list_sums(card.preview) == [("Сумма станет по товарам", "2 531 ₽", "63 200 ₽")]
    assert (await decide(desk, card)).outcome is not None
    assert await read_sum(desk) == 63_200


async def test_rows_of_a_plan_reach_a_limit_together(tmp_path: Path) -> None:
    """Failed before: three rows below the limit in one batch needed no second person, though their sum stands above it."""
    async with a_desk(tmp_path, policy={"four_eyes_above": 100_000}) as desk:
        await desk.world.client.call("crm.deal.update", {"id": DEAL, "fields": {"OPPORTUNITY": 10}})
        row = f"crm.item.productrow.add?fields[ownerType]=D&fields[ownerId]={DEAL}&fields[productName]=Н&fields[price]=60000"
        batch = desk.card(await desk.wish("batch", {"halt": 0, "cmd": {"a": row, "b": f"{row}&fields[quantity]=1"}}))
        assert batch.four_eyes
        steps = await plan(desk, add({"productName": "А", "price": 60000}), add({"productName": "Б", "price": 60000}))
        assert [desk.card(step).four_eyes for step in steps] == [True, True]


async def test_steps_that_are_only_planned_say_one_sum_as_well(desk: Desk) -> None:
    """Failed before: in shadow mode, where nothing waits, each row was drawn as if it were alone."""
    await put(desk, MONTAGE)
    planned: list[Outcome] = []
    for number, (method, params) in enumerate([DEARER, add(PUMP), add(WORK)], start=1):
        wish = effect(method, dict(params), slot=f"t9/1/{number}", planned=tuple(planned))
        outcome = await desk.world.submit(desk.session, wish, actor=VERA, mode="shadow", turn_id="t9")
        assert isinstance(outcome, Outcome)
        assert outcome.status == "planned", outcome
        planned.append(outcome)
    sums = [line[1:] for outcome in planned for line in list_sums(outcome.preview) if line[0] != "В том числе налог"]
    assert sums == [("2 331 ₽", "3 000 ₽"), ("3 000 ₽", "123 000 ₽"), ("123 000 ₽", "131 000 ₽")]
