"""The example engines with the definitions and commands of `definitions.yaml`, beside which this module stands."""

from pathlib import Path
from typing import Final

import yaml

from examples.engines.fan import FanEngine
from examples.engines.kinds import FAN, STEPS
from examples.engines.steps import StepsEngine, list_children
from orchestrator.domain.outputs import Notice
from orchestrator.engines.runs import RunEngine
from orchestrator.runs.registry import Engines, RegisteredEngine, RunCommand, StaticDefinitions

_DEFINITIONS: Final = Path(__file__).with_name("definitions.yaml")
ENGINES: Final[dict[str, RunEngine]] = {"steps": StepsEngine(), "fan": FanEngine()}


def load_engines() -> Engines:
    """Return the example engines with the definitions and commands of `definitions.yaml`."""
    given = yaml.safe_load(_DEFINITIONS.read_text(encoding="utf-8"))
    commands: dict[str, dict[str, RunCommand]] = {name: {} for name in ENGINES}
    for name, row in given["commands"].items():
        # The file's own words are the menu's line: a definition is written by its company, in its language.
        menu = Notice(code="run-option", args={"label": row["menu"]})
        commands[row["engine"]][name] = RunCommand(definition=row["definition"], menu=menu)
    return Engines(
        runs={
            "steps": RegisteredEngine(engine=ENGINES["steps"], commands=commands["steps"], list_uses=list_children, kind=STEPS),
            "fan": RegisteredEngine(engine=ENGINES["fan"], commands=commands["fan"], kind=FAN),
        },
        definitions=StaticDefinitions({(row["engine"], row["key"]): row["document"] for row in given["definitions"]}),
    )
