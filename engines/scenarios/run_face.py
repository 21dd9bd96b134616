from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from bot.console.runs.run_face import RunFace
from bot.i18n.translate import Translator, split_method
from engines.scenarios.core.plan import list_steps, name_label
from orchestrator.charts.chart import Box

_TITLES: Final = ("title", "name")


def say_box(tr: Translator, document: object, place: int, box: Box) -> Box | None:
    """With its title or what it does; None for what is no step."""
    steps = list_steps(document)
    if place >= len(steps):
        return None
    step: Mapping[str, object] = steps[place] if isinstance(steps[place], Mapping) else {}
    own = next((" ".join(title.split()) for name in _TITLES if isinstance(title := step.get(name), str) and title.strip()), "")
    if own:
        return replace(box, title=own, text="")
    kind, params = str(step.get("type") or ""), step.get("params")
    step_params = params if isinstance(params, Mapping) else {}
    if kind == "action":
        kind = str(step_params.get("action_type") or kind)
    method = step_params.get("method")
    act = tr.describe_call(method, *split_method(method)) if isinstance(method, str) else ""
    if act:
        return replace(box, title=act, text="")
    return replace(box, title=tr.translate("console-form-value", place=f"type-{kind}", value=kind))


RUN_FACE: Final = RunFace(say_box=say_box, name_nodes=lambda place, key, _parts: name_label(place, key))
