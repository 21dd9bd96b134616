"""The commands of a batch have the keys that the model gave them: in what it reads, in the log, the journal, the state and on cards."""

import json

import pytest

from orchestrator.sessions.session import Session
from tests.unit.engines.crm_agent.engine_kit import Fake, run
from tests.unit.spine_kit import World, message, press, reply, state_of, step

UNSORTED = {
    "user": "user.get?ID=7",
    "deal": "crm.deal.update?id=481&fields[TITLE]=А",
    "Deal": "crm.deal.update?id=482&fields[TITLE]=$result[deal]",
}
READS = {"zeta": "crm.deal.get?id=481", "2": "crm.deal.get?id=482", "Zeta": "crm.company.get?id=5"}


def seen_by_model(world: World) -> str:
    return json.dumps([prompt[1:] for prompt in world.model.prompts], ensure_ascii=False)


async def test_a_read_is_told_and_logged_under_its_own_keys(world: World, session: Session) -> None:
    """On the wire they are numbered, since PHP makes a list of numbers; nobody else meets that."""
    world.model.will(reply(step("batch", {"cmd": READS})), reply(text="Вот."))
    await world.turn(session, message("покажи сделки 481 и 482"))
    sent = [params for method, params in world.portal.requests if method == "batch" and "n00--zeta" in params["cmd"]]
    assert [list(params["cmd"]) for params in sent] == [["n00--zeta", "n01--2", "n02--Zeta"]]
    (done,) = world.events("CallSucceeded")
    assert [item["key"] for item in done.data["commands"]] == list(READS)
    assert set(done.data["result"]) == set(READS)
    assert "--zeta" not in seen_by_model(world) + world.audit()
    assert "zeta crm.deal.get: success; 2 crm.deal.get: success; Zeta crm.company.get: success" in seen_by_model(world)
    (record,) = [line for line in map(json.loads, world.audit().splitlines()) if "batch" in json.dumps(line.get("executed_actions", ""))]
    call = record["executed_actions"][0]
    assert (set(call["params"]["cmd"]), set(call["answer"])) == (set(READS), set(READS))


async def test_a_write_that_waits_keeps_them_through_card_and_state(world: World) -> None:
    """The order is kept, the reference works, and the next prompt, the decision's record and the journal say deal and not its number."""
    moved = {"user": "user.get?ID=7", "deal": "crm.deal.update?id=481&fields[OPPORTUNITY]=5", "Deal": UNSORTED["deal"]}
    world.model.will(reply(step("batch", {"cmd": moved})), reply(text="Ждёт."))
    await world.work(message("поменяй сделку 481"))
    await world.work(message("что там?"))
    told = json.dumps(state_of(world.model.prompts[1]), ensure_ascii=False)
    assert "--" not in told
    assert '"deal": "crm.deal.update' in told
    (card,) = world.events("ConfirmationRequested")
    assert [item["key"] for item in card.data["preview"]["items"]] == list(moved)
    await world.work(press(card.data))
    (done,) = world.events("CallSucceeded")
    assert [item["key"] for item in done.data["commands"]] == list(moved)
    assert [method for method, _ in world.portal.ledger] == ["crm.deal.update", "crm.deal.update"]
    assert "--deal" not in world.audit()


@pytest.mark.parametrize("cmd", [UNSORTED, READS])
async def test_a_refusal_names_the_written_key(world: World, session: Session, cmd: dict[str, str]) -> None:
    """The model reads which of its commands was wrong."""
    wrong = {**cmd, "a": "crm.deal.obliterate?id=1"}
    world.model.will(reply(step("batch", {"cmd": wrong})), reply(text="Не вышло."))
    await world.turn(session, message("сделай"))
    assert "--" not in _observations(world)


def _observations(world: World) -> str:
    return "".join(item["content"] for item in world.model.prompts[-1] if item["content"].startswith("OBSERVATION"))


async def test_a_plan_restored_after_a_crash_runs_in_the_written_order() -> None:
    """The journal sorts the commands; the answer of the model still has their order."""
    add = {"user": "crm.company.add?fields[TITLE]=А", "deal": "crm.deal.add?fields[COMPANY_ID]=$result[user]"}
    stored = {"method": "batch", "params": {"cmd": dict(sorted(add.items()))}, "comment": "", "slot": "t1/1/1"}
    plan = {"turn_id": "t1", "iteration": 1, "mode": "full", "steps": [stored], "executed": True, "targets": []}
    ctx = Fake(reply(step("batch", {"cmd": add})), reply(text="Готово."), plans={1: plan})
    await run(ctx)
    assert list(ctx.effects[0].params["cmd"]) == ["user", "deal"]
