"""The engine that docs/engines.md shows works as it stands there, registered as the page says."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.domain.outputs import build_reply
from orchestrator.engines import runs
from orchestrator.runs import registry
from orchestrator.runs.feature import build_feature
from orchestrator.turns.feature import merge_features
from tests.unit.runs.runs_kit import RUN, index, start
from tests.unit.spine_kit import a_world, message, press

GUIDE = Path(__file__).parents[3] / "docs" / "engines.md"


async def test_the_engine_of_the_guide_asks_writes_and_ends(tmp_path: Path) -> None:
    """It asks for a name, lets the model greet, and writes the greeting once."""
    engine, registered = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    known: dict[str, Any] = {**vars(runs), **vars(registry), "build_reply": build_reply}
    exec(engine, known)  # noqa: S102 - a page of this project
    engines = eval(registered, known)  # noqa: S307
    async with a_world(tmp_path) as world:
        tools = world.orchestrator.tools
        world.orchestrator.tools = replace(tools, features=merge_features(tools.features, build_feature(engines)))
        await world.work(start("hello", engine="greeting"))
        world.model.will("Здравствуйте, Ольга!")
        await world.work(message("Ольга"))
        for card in [row.body for row in world.outbox() if row.kind == "card"]:
            await world.work(press(card, key=RUN))
        assert index(world).status == "done"
        [(_, params)] = world.portal.written("crm.timeline.comment.add")
        assert params["fields"]["COMMENT"] == "Здравствуйте, Ольга!"
