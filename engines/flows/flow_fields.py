"""Describes the form of a flow as fields, groups and lists (S002-53…55)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from bot.console.definitions.form.fields import Choice, Field, Group, Listing, Node
from engines.flows.core.definition import WriteMode
from engines.flows.flow_form import (
    ChannelForm,
    Entry,
    FlowForm,
    Items,
    Offer,
    ParameterForm,
    Part,
    ReadForm,
    Section,
    StepForm,
    TitleForm,
    WriteForm,
    list_places,
)
from orchestrator.domain.finding import Path
from orchestrator.engines.shared.declared import ParameterType

PARTS: Final[Mapping[type[Part], str]] = {
    FlowForm: "flow",
    StepForm: "step",
    ParameterForm: "parameter",
    ChannelForm: "channel",
    ReadForm: "read",
    WriteForm: "write",
    TitleForm: "title",
}
_OPEN: Final[frozenset[Section]] = frozenset({"where", "start"})
Say = Callable[..., str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChoice:
    id: str
    """The UUID of the version, which is stored."""
    key: str
    version: int
    title: str
    prompt: str = ""
    options: str = ""
    """In words; "" if it says nothing of them."""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.id, f"{self.key}@{self.version}", self.key)


class FlowFields:
    def __init__(self, say: Say, agents: Sequence[AgentChoice]) -> None:
        self._say, self._agents = say, agents
        self._known: dict[tuple[str, ...], str] = {}
        """A form of 500 steps has the same words 500 times."""
        self._by_name = {name: agent for agent in reversed(agents) for name in agent.names}
        self._agent_choices = tuple(Choice(agent.id, self._name_agent(agent)) for agent in agents)

    def say(self, code: str, **args: str) -> str:
        known = (code, *args.values())
        if known not in self._known:
            self._known[known] = self._say(code, **args)
        return self._known[known]

    def describe(self, form: FlowForm) -> Group:
        steps = [Choice(step.id, f"{step.id} · {step.name}" if step.name else step.id) for step in form.steps if step.id]
        return Group(path=(), label="", nodes=self._list_nodes(form, (), steps))

    def _list_nodes(self, part: Part, at: Path, steps: Sequence[Choice]) -> tuple[Node, ...]:
        """The fields of each section are a group, in the order in which sections begin."""
        head: list[Node] = []
        sections: dict[Section, list[Node]] = {}
        for name, place in list_places(part):
            node = self._describe(part, name, place, at, steps)
            if place.section:
                if place.section not in sections:
                    head.append(Group(path=(*at, place.section, "…"), label="", nodes=()))
                sections.setdefault(place.section, []).append(node)
            else:
                head.append(node)
        return tuple(self._close_section(one, at, sections) if isinstance(one, Group) else one for one in head)

    def _close_section(self, mark: Group, at: Path, sections: Mapping[Section, Sequence[Node]]) -> Group:
        section = next(one for one in sections if one == mark.path[len(at)])
        label = self.say("console-form-section", section=section)
        return Group(path=mark.path, label=label, nodes=tuple(sections[section]), is_folded=section not in _OPEN)

    def _describe(self, part: Part, name: str, place: Entry | Items, at: Path, steps: Sequence[Choice]) -> Node:
        word = f"{PARTS[type(part)]}-{name.replace('_', '-')}"
        label, path = self.say("console-form-flow", field=word), (*at, *place.path)
        if isinstance(place, Items):
            parts: tuple[Part, ...] = getattr(part, name)
            items = tuple(self._describe_item(one, (*path, index), steps) for index, one in enumerate(parts))
            return Listing(path=path, label=label, items=items, add=self.say("console-form-flow-add", what=PARTS[place.part]))
        value: str = getattr(part, name)
        agent = self.find_agent(part.agent) if isinstance(part, StepForm) else None
        return Field(
            path=path,
            kind=place.kind,
            label=label,
            value=value,
            hint=self._explain(word, name, agent),
            is_required=place.is_required,
            choices=self._list_choices(place.offer, name, value, steps, is_optional=not place.is_required),
            usual=place.usual,
            least=place.least,
            most=place.most,
        )

    def _explain(self, word: str, name: str, agent: AgentChoice | None) -> str:
        if agent is not None and name == "prompt" and agent.prompt:
            return self.say("console-form-agent-prompt", prompt=agent.prompt)
        if agent is not None and name == "agent" and agent.options:
            return self.say("console-form-agent-options", options=agent.options)
        return self.say("console-form-flow-hint", field=word)

    def _describe_item(self, part: Part, path: Path, steps: Sequence[Choice]) -> Group:
        names = {StepForm: ("name", "id"), ParameterForm: ("name",), ChannelForm: ("id",), TitleForm: ("title", "name")}
        titles = [getattr(part, name) for name in names.get(type(part), ("channel",))]
        title = next((one for one in titles if one.strip()), "")
        agent = self.find_agent(part.agent) if isinstance(part, StepForm) else None
        label = agent.title or agent.key if agent is not None else ""
        is_small = isinstance(part, ReadForm | WriteForm | TitleForm)
        return Group(path=path, label=label, nodes=self._list_nodes(part, path, steps), is_folded=not is_small, title=title)

    def find_agent(self, reference: str) -> AgentChoice | None:
        """None if it is not among the published ones."""
        return self._by_name.get(reference)

    def _list_choices(self, offer: Offer, name: str, value: str, steps: Sequence[Choice], *, is_optional: bool) -> tuple[Choice, ...]:
        """Include the present value, which may be none of the choices."""
        known: list[Choice] = []
        match offer:
            case "":
                return ()
            case "steps":
                known = list(steps)
            case "agents":
                known = list(self._agent_choices)
            case "types":
                known = self._name_words("types", get_args(ParameterType))
            case "modes":
                known = self._name_words("modes", get_args(WriteMode))
            case "scopes":
                known = self._name_words("scopes", ("run", "user"))
        if is_optional:
            known.insert(0, Choice("", self.say("console-form-flow-nothing", field=name.replace("_", "-"))))
        if value and all(choice.value != value for choice in known):
            agent = self.find_agent(value) if offer == "agents" else None
            label = f"{value} → {self._name_agent(agent)}" if agent is not None else self.say("console-form-unknown", value=value)
            known.append(Choice(value, label))
        return tuple(known)

    def _name_agent(self, choice: AgentChoice) -> str:
        return self.say("console-form-agent", title=choice.title or choice.key, key=choice.key, version=str(choice.version))

    def _name_words(self, offer: str, words: Sequence[str]) -> list[Choice]:
        return [Choice(word, self.say("console-form-flow-choice", offer=offer, value=word)) for word in words]
