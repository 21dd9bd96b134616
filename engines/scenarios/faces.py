"""What the doors show of scenarios: their first document, form, chart, trial and runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from bot.console.runs.run_face import RunFace
from bot.i18n.translate import Translator, split_method
from bot.plugins.kind_face import KindFace, Say, Steps, Use
from bot.rehearsing.trial_face import TrialFace
from engines.scenarios.core.authoring.chart import build_chart
from engines.scenarios.core.authoring.first import FirstTexts, build_first
from engines.scenarios.core.authoring.schema import build_schema
from engines.scenarios.core.graph import build_graph
from engines.scenarios.core.kind import KIND, list_uses
from engines.scenarios.core.plan import StepTypes, name_label
from engines.scenarios.core.registry import build_step_types, load_plugins
from engines.scenarios.trial import PlayableScenario
from orchestrator.charts.chart import Box
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.domain.finding import Path
from orchestrator.engines.runs import RunFailed
from orchestrator.runs.registry import Definitions
from state.journal.async_store import AsyncStore
from state.stored import JsonObject

_STEPS: Final = "steps"
_TITLES: Final = ("title", "name")
"""Fields of the author's own by which a step may have a title."""


@cache
def load_step_types() -> StepTypes:
    """Return the types of steps, with those of installed plugins."""
    return build_step_types(load_plugins())


def begin(say: Say) -> JsonObject:
    """Return a first scenario."""
    title = say("console-new-title")
    texts = FirstTexts(hello=say("scenario-new-hello", name=title), summary=say("scenario-new-summary"), done=say("scenario-new-done"))
    return build_first(title, "", [say("console-new-question")], "say", texts)


def build_item(_document: object, path: Path) -> object:
    """Return a new step of the simplest type, or another element without anything in it."""
    return {"type": "message", "params": {"text": ""}} if path == (_STEPS,) else {}


def list_step_uses(document: object, listed: Path) -> Iterator[Use]:
    """Yield where steps name steps."""
    for node in build_graph(list_steps(document), load_step_types()):
        yield from (((*listed, *target.path[1:]), target.id) for target in node.targets)


def list_steps(document: object) -> Sequence[Any]:
    """Return the steps of a draft."""
    listed = document.get(_STEPS) if isinstance(document, Mapping) else None
    return listed if isinstance(listed, list) else []


def say_box(tr: Translator, document: object, place: int, box: Box) -> Box | None:
    """Return the box of a step: with its title if its author gave one, else with what it does; None for what is no step."""
    steps = list_steps(document)
    if place >= len(steps):
        return None
    step: Mapping[str, object] = steps[place] if isinstance(steps[place], Mapping) else {}
    own = next((" ".join(title.split()) for name in _TITLES if isinstance(title := step.get(name), str) and title.strip()), "")
    if own:
        return replace(box, title=own, text="")
    kind, params = str(step.get("type") or ""), step.get("params")
    given = params if isinstance(params, Mapping) else {}
    if kind == "action":
        kind = str(given.get("action_type") or kind)
    method = given.get("method")
    act = tr.describe_call(method, *split_method(method)) if isinstance(method, str) else ""
    if act:
        return replace(box, title=act, text="")
    return replace(box, title=tr.translate("console-form-value", place=f"type-{kind}", value=kind))


async def load_playable(
    kind: DefinitionKind, key: str, document: Mapping[str, Any], *, store: AsyncStore, definitions: Definitions
) -> PlayableScenario:
    """Return the scenario with all that are listed, and those that they start by name."""
    del kind, store
    types = load_step_types()
    documents: dict[str, Any] = {one.key: one.document for one in await definitions.list_all(KIND)}
    documents[key] = document
    left = [name for one in tuple(documents.values()) for engine, name in list_uses(one, types) if engine == KIND]
    while left:
        name = left.pop()
        if name in documents:
            continue
        try:
            definition = await definitions.find(KIND, name)
        except RunFailed:  # switched off or never published: the trial fails there, as a run would
            continue
        if definition is not None:
            documents[name] = definition.document
            left += [used for engine, used in list_uses(definition.document, types) if engine == KIND]
    return PlayableScenario(key=key, documents=documents, types=types)


SCENARIO_FACE: Final = KindFace(
    begin=begin,
    build_schema=lambda: build_schema(load_step_types()),
    build_item=build_item,
    steps=Steps(field=_STEPS, draw=lambda document, _parts: build_chart(document, load_step_types())),
    named_lists=((_STEPS,),),
    list_uses=list_step_uses,
)
RUN_FACE: Final = RunFace(say_box=say_box, name_nodes=name_label)
TRIAL: Final = TrialFace(load=load_playable)
