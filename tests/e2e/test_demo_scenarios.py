"""The scenarios and flows of the demo: offered from the first minute, and cancelled before another scene."""

from pathlib import Path

import pytest

from tests.e2e.demo_kit import running_demo

pytestmark = pytest.mark.long  # processes of its own

DEAL = 481


async def test_another_scene_and_a_new_beginning_leave_no_scenario_waiting(tmp_path: Path) -> None:
    """What is written next is a request again; after «start over» scenarios and flows are offered as before."""
    async with running_demo(tmp_path) as demo:
        boris = demo.person(1007)
        await demo.ask(boris, "/run lead_qualification", "Какой лид квалифицируем?")
        await demo.post("/demo/prepare", {"scene": "s", "person": 1007, "deals": [DEAL], "reason": "Сцена началась заново"})
        await demo.ask(boris, "покажи сделку Ромашка", "120 000 ₽")
        await demo.post("/demo/restart")
        await demo.ask(boris, "/run", "Согласование скидки")
        await demo.ask(boris, "/flow", "Черновик предложения")
