"""What the fields of scenarios may hold: definitions, methods, fields of records, and variables that earlier steps set."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bot.plugins.choices import Choice, FindOffer, Known, Offer
from engines.scenarios.core.plan import Node, build_graph, find_reached, list_steps
from engines.scenarios.core.registry import load_step_types
from orchestrator.documents.changing import find_value
from orchestrator.domain.finding import Path

_KINDS: Final = {"sub_scenario_id": "scenario", "scenario_id": "scenario", "flow_id": "flow", "workflow_id": "workflow"}
OFFERS: Final = dict.fromkeys(_KINDS.values(), False)
_WITH_FIELDS: Final = ("fields", "filter")
_EXPRESSIONS: Final = (("condition",), ("params", "values"))


def open_choices(document: object, known: Known) -> FindOffer:
    published = {name: Offer(choices=known.list_published(kind), is_open=True) for name, kind in _KINDS.items()}
    methods = Offer(choices=tuple(known.methods), is_open=True)

    def find(path: Path) -> Offer | None:
        match path:
            case ("steps", int(), "params", "method"):
                return methods
            case ("steps", int(), "params", "params", *inner):
                record = _find_record(find_value(document, (*path[:3], "method")))
                inside = dict.fromkeys(_WITH_FIELDS, tuple(known.fields.get(record, ())))
                if not inner:
                    return Offer(choices=tuple(Choice(name, "") for name in inside), is_open=True, inside=inside)
                return Offer(choices=inside[str(inner[0])], is_open=True) if len(inner) == 1 and inner[0] in inside else None
            case ("steps", int(), "params", str(name)):
                return published.get(name)
        return None

    return find


def _find_record(method: object) -> str:
    """ "deal" of crm.deal.update."""
    _, _, rest = method.partition(".") if isinstance(method, str) else ("", "", "")
    return rest.rpartition(".")[0]


def list_variables(document: object, path: Path) -> Sequence[str]:
    """Of the beginning, and of each step from which a way leads to this one; bare in expressions."""
    match path:
        case ("steps", int(index), "params" | "condition", *_):
            names = dict.fromkeys([*_list_initial(document), *_list_set(build_graph(list_steps(document), load_step_types()), index)])
            is_bare = any(path[2 : 2 + len(place)] == place for place in _EXPRESSIONS)
            return [name if is_bare else f"{{{name}}}" for name in names]
    return ()


def _list_initial(document: object) -> Iterator[str]:
    initial = find_value(document, ("initial_context",))
    yield from initial if isinstance(initial, Mapping) else ()


def _list_set(nodes: Sequence[Node], index: int) -> Iterator[str]:
    sources: dict[int, list[int]] = {}
    for node in nodes:
        for target in node.leads_to:
            sources.setdefault(target, []).append(node.index)
    before: set[int] = set()
    waiting = list(sources.get(index, ()))
    while waiting:
        place = waiting.pop()
        if place not in before:
            before.add(place)
            waiting += sources.get(place, ())
    for place in sorted(before & find_reached(nodes)):
        step_type = nodes[place].type
        yield from (name.partition(".")[0] for name in (step_type.list_outputs(nodes[place].params) if step_type is not None else ()))
