"""What the fields of flows and agents may hold: published agents, channels that are named somewhere, ways of writing, methods."""

from collections.abc import Mapping
from typing import Final, get_args

from bot.plugins.choices import Choice, FindOffer, Known, Offer, Published
from engines.flows.core.definition import AGENT, WriteMode
from engines.flows.deeds import find_free_id
from orchestrator.documents.changing import find_value
from orchestrator.domain.finding import Path

_STEPS: Final = "steps"
_LONGEST_PROMPT: Final = 300


def build_item(document: object, path: Path) -> object:
    """A step with an id of its own, or an empty element."""
    return {"id": find_free_id(document), "agentVersionId": ""} if path == (_STEPS,) else {}


def open_choices(document: object, known: Known) -> FindOffer:
    agents = known.published.get(AGENT, ())
    by_name = {name: agent for agent in reversed(agents) for name in agent.names}
    named = tuple(Choice(agent.id, _name(known, agent), _explain(known, agent)) for agent in agents)
    channels = Offer(choices=tuple(Choice(name, name) for name in _list_channels(document)), is_open=True)
    modes = Offer(
        choices=tuple(Choice(one, known.say("console-form-value", place=f"mode-{one}", value=one, said="")) for one in get_args(WriteMode))
    )

    def offer_agents(path: Path) -> Offer:
        present = find_value(document, path)
        agent = by_name.get(present) if isinstance(present, str) else None
        if agent is None or present == agent.id:
            return Offer(choices=named, hint=_explain(known, agent) if agent is not None else "")
        stored = Choice(str(present), f"{present} → {_name(known, agent)}")
        return Offer(choices=(*named, stored), hint=_explain(known, agent))

    def offer_prompt(path: Path) -> Offer | None:
        agent = by_name.get(str(find_value(document, (*path[:-1], "agentVersionId"))))
        prompt = " ".join(str(_read(agent, "systemPrompt") or "").split()) if agent is not None else ""
        said = prompt if len(prompt) <= _LONGEST_PROMPT else f"{prompt[:_LONGEST_PROMPT]}…"
        return Offer(hint=known.say("console-form-agent-prompt", prompt=said)) if said else None

    def find(path: Path) -> Offer | None:
        match path:
            case ("steps", int(), "agentVersionId"):
                return offer_agents(path)
            case ("steps", int(), "prompt"):
                return offer_prompt(path)
            case ("steps", int(), "memoryReads" | "memoryWrites", int(), "channel"):
                return channels
            case ("steps", int(), "memoryWrites", int(), "mode"):
                return modes
        return None

    return find


def open_agent_choices(_document: object, known: Known) -> FindOffer:
    methods = Offer(choices=tuple(known.methods), is_open=True)
    return lambda path: methods if path[:1] in {("tools",), ("effects",)} else None


def _list_channels(document: object) -> list[str]:
    """Declared ones first, then those of steps."""
    places: list[Path] = [("memory", "sharedChannels")]
    steps = find_value(document, (_STEPS,))
    places += [
        (_STEPS, index, memory)
        for index in range(len(steps) if isinstance(steps, list) else 0)
        for memory in ("memoryWrites", "memoryReads")
    ]
    found: list[object] = []
    for place in places:
        items = find_value(document, place)
        found += [
            one.get("id" if place[0] == "memory" else "channel")
            for one in (items if isinstance(items, list) else ())
            if isinstance(one, Mapping)
        ]
    return list(dict.fromkeys(name for name in found if isinstance(name, str) and name))


def _name(known: Known, agent: Published) -> str:
    return known.say("console-form-agent", title=agent.title or agent.key, key=agent.key, version=str(agent.version))


def _explain(known: Known, agent: Published) -> str:
    """Its model and options in words; "" if it says nothing of them."""
    model, options = _read(agent, "model"), _read(agent, "defaultOptions")
    said = [str(model)] if model else []
    if isinstance(options, Mapping):
        said += [known.say("console-form-option", name=str(name), value=str(option)) for name, option in options.items()]
    return known.say("console-form-agent-options", options=", ".join(said)) if said else ""


def _read(agent: Published, name: str) -> object:
    return agent.document.get(name) if isinstance(agent.document, Mapping) else None
