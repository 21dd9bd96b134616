from collections.abc import Mapping
from typing import Final

from bot.console.definitions.form.fields import Field, Group
from bot.console.definitions.form.form_face import FormFace, FormSource
from bot.console.definitions.work import build_editor
from bot.console.visit import Visit
from engines.flows.core.definition import AGENT
from engines.flows.flow_fields import AgentChoice, FlowFields
from engines.flows.flow_form import build_flow_definition, enter_text, find_new_step_id, read_flow_form
from orchestrator.domain.finding import Path
from state.model.definitions import DefinitionDamaged, DefinitionMissing, DefinitionVersion

_STEPS: Final = "steps"


class FlowSource:
    def __init__(self, fields: FlowFields) -> None:
        self._fields = fields

    def describe(self, document: object) -> Group:
        return self._fields.describe(read_flow_form(document))

    def enter(self, document: object, field: Field, typed: str) -> object:
        """Raises FieldRefused and PlaceGone."""
        built = build_flow_definition(enter_text(read_flow_form(document), field.path, typed))
        for mistake in built.mistakes:
            raise mistake.refusal
        return built.document

    def build_item(self, document: object, path: Path) -> object:
        """Return a step with an id of its own, or an empty element."""
        if path != (_STEPS,):
            return {}
        return {"id": find_new_step_id(read_flow_form(document)), "agentVersionId": ""}


MOST_AGENTS: Final = 500
_LONGEST_PROMPT: Final = 300


async def load_agents(visit: Visit) -> tuple[AgentChoice, ...]:
    """Agents with active versions, by title. Raises VisitOver, StoreError."""
    service, editor = visit.services.definitions, build_editor(visit)
    if AGENT not in service.list_kinds(editor):
        return ()
    agent_choices: list[AgentChoice] = []
    for head in await service.list_keys(editor, AGENT, limit=MOST_AGENTS):
        if head.enabled and head.active_version:
            try:
                agent_choices.append(_describe(visit, await service.find_version(editor, AGENT, head.key, head.active_version)))
            except (DefinitionDamaged, DefinitionMissing):
                continue  # it cannot be used, and the others can
    return tuple(sorted(agent_choices, key=lambda agent_choice: (agent_choice.title.casefold(), agent_choice.key)))


def _describe(visit: Visit, version: DefinitionVersion) -> AgentChoice:
    document: Mapping[str, object] = version.document if isinstance(version.document, Mapping) else {}
    prompt, model, options = (document.get(name) for name in ("systemPrompt", "model", "defaultOptions"))
    option_texts = [str(model)] if model else []
    if isinstance(options, Mapping):
        option_texts += [visit.say("console-form-option", name=str(name), value=str(option)) for name, option in options.items()]
    text = " ".join(str(prompt or "").split())
    return AgentChoice(
        id=version.id,
        key=version.key,
        version=version.version,
        title=version.title,
        prompt=text if len(text) <= _LONGEST_PROMPT else f"{text[:_LONGEST_PROMPT]}…",
        options=", ".join(option_texts),
    )


async def open_form(visit: Visit) -> FormSource:
    return FlowSource(FlowFields(visit.say, await load_agents(visit)))


FORM: Final = FormFace(open=open_form)
