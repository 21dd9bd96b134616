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


@pytest.mark.parametrize("name", ["examples.nothing", "nothing.at.all", "", "..", "examples/engines"])
def test_a_program_that_does_not_exist_is_refused_before_anything_starts(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise the demo would restart it for ever and wait for its chat."""
    with pytest.raises(SystemExit) as ended:
        parse(["--program", name])
    assert ended.value.code == 2
    assert "there is no Python module" in capsys.readouterr().err
