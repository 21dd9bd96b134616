"""An installed package adds types of steps by an entry point; the engine plays them, and the check and the schema know them."""

import json
from importlib.metadata import EntryPoint

import pytest
from jsonschema import Draft202012Validator

from engines.scenarios.core import registry
from engines.scenarios.core.authoring import build_schema
from engines.scenarios.core.checks import check_scenario
from engines.scenarios.core.step_types import StepCall, StepParams, StepResult, StepType
from engines.scenarios.core.steps.talking import MESSAGE
from engines.scenarios.playing import Dialogue, play_dialogue
from orchestrator.documents.reading import read_document
from orchestrator.engines import plugins
from orchestrator.rehearsals.comparing import list_messages
from orchestrator.rehearsals.script import Script
from tests.unit.engines.scenarios.scenario_kit import say, scenario


class ShoutParams(StepParams):
    """What is shouted."""

    text: str
    times: int = 2


async def shout(call: StepCall[ShoutParams]) -> StepResult:
    """Say the text as a message in capitals, as often as is asked for."""
    words = " ".join([call.params.text.upper()] * call.params.times)
    return await MESSAGE.perform(StepCall(**{**call.__dict__, "params": MESSAGE.params(text=words)}))


SHOUT = StepType(name="shout", summary="Shouts.", params=ShoutParams, perform=shout)
NO_TYPE = "no type of steps"


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three packages: a good one, one that names something else, and one that cannot be loaded."""
    points = [EntryPoint(name=name, value=f"{__name__}:{name}", group=registry.GROUP) for name in ("SHOUT", "NO_TYPE", "GONE")]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points if group == registry.GROUP else [])


@pytest.mark.req("S000-55", "S000-50")
async def test_a_plugins_step_is_played_checked_and_published(caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be loaded is named in the log and harms nothing else."""
    types = registry.build_step_types(registry.load_plugins())
    assert [record.__dict__["action"] for record in caplog.records] == ["plugin_failed"] * 2
    plan = scenario({"type": "shout", "params": {"text": "{user_name}"}}, say("тихо"))
    dialogue = Dialogue.model_validate({"name": "x", "person": {"name": "Анна"}})
    played = await play_dialogue("plan", {"plan": plan}, types, dialogue, Script(dialogue))
    assert list_messages(played.happenings) == ["АННА АННА", "тихо"]
    assert list(check_scenario(read_document(json.dumps(plan)).require_document(), types)) == []
    wrong = scenario({"type": "shout", "params": {"text": "x", "times": "often"}})
    (found,) = check_scenario(read_document(json.dumps(wrong)).require_document(), types)
    assert found.path == "steps[0].params.times"
    schema = Draft202012Validator(build_schema(types))
    assert (schema.is_valid(plan), schema.is_valid(wrong)) == (True, False)


async def break_down(_call: StepCall[ShoutParams]) -> StepResult:
    raise ZeroDivisionError("by zero")


async def test_a_plugins_mistake_fails_the_rehearsed_run_as_it_would_a_real_one() -> None:
    """Its author reads what it was, not a traceback of the program."""
    broken = StepType(name="break", summary="Breaks.", params=ShoutParams, perform=break_down)
    dialogue = Dialogue(name="x")
    plan = scenario({"type": "break", "params": {"text": "x"}})
    played = await play_dialogue("plan", {"plan": plan}, registry.build_step_types([broken]), dialogue, Script(dialogue))
    assert (played.result.status, played.result.code) == ("failed", "failed")
    assert played.happenings[-1].text == "ZeroDivisionError: by zero"


async def test_a_file_of_the_own_chat_is_told_by_its_name_and_not_read() -> None:
    """Whoever rehearses a scenario need not have the folder of files."""
    dialogue = Dialogue(name="x")
    plan = scenario({"type": "telegram_send_document", "params": {"path": "offers/price.pdf", "caption": "Прайс"}}, say("дальше"))
    played = await play_dialogue("plan", {"plan": plan}, registry.build_step_types(), dialogue, Script(dialogue))
    assert list_messages(played.happenings) == ["📎 price.pdf\nПрайс", "дальше"]
