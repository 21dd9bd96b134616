from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Final

from bot.plugins.kind_face import Deeds, KindFace, Say, StepChoice, Steps, Use
from engines.scenarios.choices import OFFERS, list_variables, open_choices
from engines.scenarios.core.authoring import FirstTexts, build_chart, build_first, build_schema
from engines.scenarios.core.deeds import ScenarioDeeds
from engines.scenarios.core.plan import build_graph, list_steps
from engines.scenarios.core.registry import load_step_types
from orchestrator.domain.finding import Path
from state.stored import JsonObject

_STEPS: Final = "steps"


def begin(say: Say) -> JsonObject:
    title = say("console-new-title")
    texts = FirstTexts(hello=say("scenario-new-hello", name=title), summary=say("scenario-new-summary"), done=say("scenario-new-done"))
    return build_first(title, "", [say("console-new-question")], "say", texts)


def build_item(_document: object, path: Path) -> object:
    """Return a step of the simplest type, or an empty element."""
    return {"type": "message", "params": {"text": ""}} if path == (_STEPS,) else {}


def list_step_uses(document: object, named_list: Path) -> Iterator[Use]:
    for node in build_graph(list_steps(document), load_step_types()):
        yield from (((*named_list, *target.path[1:]), target.id) for target in node.targets)


def list_types(say: Say) -> Sequence[StepChoice]:
    """In the words of the form."""
    return [
        StepChoice(value=name, label=say("console-form-value", place=f"type-{name}", value=name, said=name), hint=kind.summary)
        for name, kind in load_step_types().items()
    ]


def build_deeds() -> Deeds:
    deeds = ScenarioDeeds(load_step_types())
    return Deeds(list_types=list_types, add=deeds.add, connect=deeds.connect, disconnect=deeds.disconnect, remove=deeds.remove)


SCENARIO_FACE: Final = KindFace(
    begin=begin,
    build_schema=lambda: build_schema(load_step_types()),
    build_item=build_item,
    steps=Steps(field=_STEPS, draw=lambda document, _parts: build_chart(document, load_step_types()), deeds=build_deeds()),
    named_lists=((_STEPS,),),
    list_uses=list_step_uses,
    offers=OFFERS,
    names_fields=True,
    open_choices=open_choices,
    list_variables=list_variables,
    templates=tuple(files("engines.scenarios") / "examples" / f"{name}.yaml" for name in ("lead_qualification", "discount_approval")),
)
