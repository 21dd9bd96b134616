"""The demo with another program: `--program examples.engines` shows runs, and a program that does not exist is refused."""

from pathlib import Path

import pytest

from sandbox.demo.__main__ import parse
from tests.e2e.demo_kit import running_demo


async def test_the_demo_offers_the_commands_of_the_example_engines(tmp_path: Path) -> None:
    """The menu has them, and the run that asks the model side by side ends with a plan made of all answers."""
    async with running_demo(tmp_path, "--program", "examples.engines") as demo:
        boris = demo.person(1007)
        plan = await demo.ask(boris, "/call ООО Ромашка", "План звонка: ООО Ромашка")
        offered = (await demo.page.get("/sandbox/chats/1007/commands")).json()["commands"]

    assert {"price", "client", "call", "runs", "cancel"} <= {row["command"] for row in offered}
    assert [line[:2] for line in plan.text.splitlines()[1:]] == ["1.", "2.", "3."]


@pytest.mark.long
async def test_a_run_of_the_demo_writes_a_deal_a_file_and_a_chat_and_sets_a_reminder(tmp_path: Path) -> None:
    """What the policy of the demo opens; the second time the file is there already, so a card shows what changes in it."""
    async with running_demo(tmp_path, "--program", "examples.engines") as demo:
        boris, vera = demo.person(1007), demo.person(1008)
        for choice, cards in (
            ("100 штук", ("120 000 ₽ → 108 000 ₽", "Кому: Вера Лебедева")),
            ("120 штук", ("108 000 ₽ → 129 600 ₽", "Строка 2: Светильники: 100 шт. → Светильники: 120 шт.", "Кому: Вера Лебедева")),
        ):
            last = await demo.ask(boris, "/ship", "Сколько светильников")
            await boris.press(last.number, last.data(choice))
            for words in cards:
                last = await demo.told(boris, last.number, words)
                await demo.approve(boris, last, "Выполнить")
            await demo.told(boris, last.number, "Напомню")
        told = [message.text for message in await vera.seen()]
        written = (tmp_path / "files" / "отгрузки" / "Ромашка.txt").read_text(encoding="utf-8")
        await demo.post("/demo/restart")
        left = list((tmp_path / "files").iterdir())

    assert [text.partition(".")[0] for text in told] == [f"Отгрузка «Ромашке»: светильники, {count} шт" for count in (100, 120)]
    assert "Светильники: 120 шт.\nСумма: 129 600 ₽\n" in written
    assert left == []


@pytest.mark.parametrize("name", ["examples.nothing", "nothing.at.all", "", "..", "examples/engines"])
def test_a_program_that_does_not_exist_is_refused_before_anything_starts(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise the demo would restart it for ever and wait for its chat."""
    with pytest.raises(SystemExit) as ended:
        parse(["--program", name])
    assert ended.value.code == 2
    assert "there is no Python module" in capsys.readouterr().err
