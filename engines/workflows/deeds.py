"""What a canvas does to a workflow: tuums, and which variables go from one to another. Pure.

A line is a variable that its target reads: each deed tries the ways in which an author could write it; the first without a mistake stays.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from bot.plugins.kind_face import Deeds, Say, StepChoice
from engines.workflows.charts import OUTPUTS, RESULT_KEY, START_KEY, STORED, Output, Wiring, find_free_name, name_entry, read_wiring
from engines.workflows.core.checks import NO_TUUMS, check_workflow
from engines.workflows.core.compile import Node
from engines.workflows.core.registry import load_rune_types
from engines.workflows.core.rune_types import PROMPTS
from engines.workflows.core.variables import AFTER_ANSWER, IN_CALLBACK
from engines.workflows.reading_variables import NOTHING_YET, drop_local, list_with_reader, rename_in_prompts
from orchestrator.documents.changing import find_value, insert_item, remove_value, set_value
from orchestrator.documents.document import Document
from orchestrator.domain.finding import Path

_TUUMS: Final = "tuums"
_INPUTS: Final = "inputMappings"
_RAW_TEXT: Final[Path] = ("terminal", "rawText")
_RESULTS: Final[tuple[Path, ...]] = (_RAW_TEXT, ("terminal", "operations"))
_IDLE: Final = frozenset({"finding-workflow-output-unused", "finding-workflow-parameter-unused"})
"""True of what has lost its last line."""
_KINDS: Final = ("model", "query", "script", "operation", STORED)
Mistakes = Counter[tuple[str, tuple[tuple[str, str | int], ...]]]


class WorkflowDeeds:
    """Boxes are named as the document names them; `tuums` are by what references say."""

    def __init__(self, tuums: Mapping[str, object] = NO_TUUMS) -> None:
        self._tuums = tuums

    def connect(self, document: object, source: str, port: int, target: str) -> object:
        """The target reads the variable of the port; the result shows it."""
        wiring = self._read(document)
        output = _find_output(wiring, source, port)
        if output is None:
            return document
        published = _publish(document, wiring, source, output)
        if target == RESULT_KEY:
            return self._take_first(document, [set_value(published, _RAW_TEXT, output.name)])
        position = wiring.find_position(target)
        if position is None or _reads(wiring, position, output.name):
            return document
        candidates = (
            candidate
            for candidate in _list_connected(published, wiring, position, output.name)
            if self._reads_now(candidate, target, output.name)
        )
        return self._take_first(document, candidates)

    def disconnect(self, document: object, source: str, port: int, target: str) -> object:
        """Nothing happens where a script or a call needs the variable: that is for its author to change."""
        wiring = self._read(document)
        output = _find_output(wiring, source, port)
        if output is None:
            return document
        if target == RESULT_KEY:
            for place in _RESULTS:
                document = remove_value(document, place) if find_value(document, place) == output.name else document
            return document
        position = wiring.find_position(target)
        if position is None or not _reads(wiring, position, output.name):
            return document
        without = _drop_input(document, wiring, position, output.name)
        return self._take_first(document, [without] if not self._reads_now(without, target, output.name) else [])

    def add(self, document: object, kind: str, source: str, port: int) -> tuple[object, str]:
        """Behind its source, whose variable it reads; without one at the end."""
        wiring = self._read(document)
        output, key = _find_output(wiring, source, port), find_free_id(document)
        position = wiring.find_position(source)
        index = wiring.graph.nodes[position].index + 1 if position is not None else len(wiring.entries) if source != START_KEY else 0
        alone = insert_item(document, (_TUUMS,), index, _build_tuum(key, kind, ""))
        if output is None or kind == STORED:
            return alone, key
        fed = insert_item(_publish(document, wiring, source, output), (_TUUMS,), index, _build_tuum(key, kind, output.name))
        is_sound = self._take_first(document, [fed] if self._reads_now(fed, key, output.name) else []) is fed
        return (fed if is_sound else alone), key

    def remove(self, document: object, keys: Sequence[str]) -> object:
        for key in keys:
            index = next((index for index, entry in enumerate(self._read(document).entries) if key and name_entry(entry) == key), None)
            if index is not None:
                document = self._remove_one(document, index)
        return document

    def _remove_one(self, document: object, index: int) -> object:
        """Who read what it gave reads what it read."""
        wiring, before = self._read(document), self._count_mistakes(document)
        position = next((place for place, node in enumerate(wiring.graph.nodes) if node.index == index), None)
        outputs = wiring.graph.nodes[position].outputs if position is not None else {}
        supply = _list_sourced(wiring, position) if position is not None else []
        for name in outputs:
            readers = (place for place in range(len(wiring.graph.nodes)) if place != position and _reads(wiring, place, name))
            for reader in readers:
                changed = _list_rerouted(document, self._read(document), reader, name, supply)
                document = self._take_best(before, changed, index)
            for place in _RESULTS:
                if find_value(document, place) == name:
                    led = [set_value(document, place, other) for other in supply[:1] if place == _RAW_TEXT]
                    document = self._take_best(before, [*led, remove_value(document, place)], index)
        return _remove_entry(document, index)

    def _take_first(self, document: object, candidates: Iterable[object]) -> object:
        """The document itself if each would make a new mistake."""
        before = self._count_mistakes(document)
        return next((one for one in candidates if not self._count_mistakes(one) - before), document)

    def _take_best(self, before: Mistakes, candidates: Iterable[object], removed: int) -> object:
        """The first with the fewest new mistakes once that tuum is gone."""
        return min(candidates, key=lambda one: (self._count_mistakes(_remove_entry(one, removed)) - before).total())

    def _count_mistakes(self, document: object) -> Mistakes:
        findings = check_workflow(Document.from_data(document), load_rune_types(), self._tuums)
        return Counter((one.code, tuple(sorted(one.args.items()))) for one in findings if one.code not in _IDLE)

    def _reads_now(self, document: object, key: str, name: str) -> bool:
        wiring = self._read(document)
        position = wiring.find_position(key)
        return position is not None and _reads(wiring, position, name)

    def _read(self, document: object) -> Wiring:
        return read_wiring(document, load_rune_types(), self._tuums)


def _find_output(wiring: Wiring, source: str, port: int) -> Output | None:
    if source == START_KEY:
        outputs: Sequence[Output] = [Output(name, name, is_published=True) for name in wiring.starts]
    else:
        position = wiring.find_position(source)
        outputs = wiring.list_outputs(position) if position is not None else []
    return outputs[port] if 0 <= port < len(outputs) else None


def _publish(document: object, wiring: Wiring, source: str, output: Output) -> object:
    position = wiring.find_position(source)
    if output.is_published or position is None:
        return document
    return set_value(document, (_TUUMS, wiring.graph.nodes[position].index, OUTPUTS, output.name), output.local)


def _reads(wiring: Wiring, position: int, name: str) -> bool:
    return name in wiring.graph.nodes[position].inputs.values() or name in wiring.graph.reads[position].values()


def _list_sourced(wiring: Wiring, position: int) -> list[str]:
    graph = wiring.graph
    names = dict.fromkeys([*graph.nodes[position].inputs.values(), *graph.reads[position].values()])
    return [name for name in names if name not in graph.nodes[position].outputs and (name in graph.producers or name in graph.parameters)]


def _write_out(wiring: Wiring, position: int) -> dict[str, str]:
    """All that it reads now: with mappings, nothing else comes in."""
    return {**wiring.graph.nodes[position].inputs, **wiring.graph.reads[position]}


def _list_connected(document: object, wiring: Wiring, position: int, name: str) -> Iterator[object]:
    node = wiring.graph.nodes[position]
    base, entry = (_TUUMS, node.index), find_value(document, (_TUUMS, node.index))
    inputs = _write_out(wiring, position)
    if node.own is not None:
        known = {*wiring.graph.producers, *wiring.graph.parameters}
        unmet = [local for local, present in inputs.items() if present not in known]
        for local in unmet or (inputs if len(inputs) == 1 else ()):
            yield set_value(document, (*base, _INPUTS), {**inputs, local: name})
        return
    local = find_free_name(name, _list_locals(node))
    for changed in list_with_reader(entry, local):
        if node.given is None and local == name:
            yield set_value(document, base, changed)
        mapped = dict(node.given) if node.given is not None else inputs
        yield set_value(document, base, set_value(changed, (_INPUTS,), {**mapped, local: name}))


def _list_locals(node: Node) -> set[str]:
    variables = node.variables
    types = node.tuum.variable_types if node.tuum is not None else {}
    names = (node.inputs, variables.needs, variables.reads, variables.gives, types, AFTER_ANSWER, IN_CALLBACK, (PROMPTS,))
    return {name for group in names for name in group}


def _list_rerouted(document: object, wiring: Wiring, position: int, name: str, supply: Sequence[str]) -> Iterator[object]:
    """From what should be best to what is left when nothing helps."""
    node = wiring.graph.nodes[position]
    base = (_TUUMS, node.index)
    entry, inputs = find_value(document, base), _write_out(wiring, position)
    locals_ = [local for local, present in inputs.items() if present == name]
    for other in supply[:1]:
        if node.given is None and node.own is None:
            for local in locals_:
                entry = rename_in_prompts(entry, local, other)
            yield set_value(document, base, entry)
        yield set_value(document, (*base, _INPUTS), {**inputs, **dict.fromkeys(locals_, other)})
    yield _drop_input(document, wiring, position, name)
    yield document


def _drop_input(document: object, wiring: Wiring, position: int, name: str) -> object:
    node = wiring.graph.nodes[position]
    base = (_TUUMS, node.index)
    entry = find_value(document, base)
    for local in [local for local, present in _write_out(wiring, position).items() if present == name]:
        entry = drop_local(entry, local) if node.own is None else entry
        entry = remove_value(entry, (_INPUTS, local), keep=1)
    return set_value(document, base, entry)


def _remove_entry(document: object, index: int) -> object:
    entries: Any = find_value(document, (_TUUMS,))
    return set_value(document, (_TUUMS,), [*entries[:index], *entries[index + 1 :]])


def find_free_id(document: object) -> str:
    tuums = document.get(_TUUMS) if isinstance(document, Mapping) else None
    ids = {name for entry in tuums if (name := name_entry(entry))} if isinstance(tuums, list) else set()
    return next(tuum_id for number in range(len(ids) + 1, 2 * len(ids) + 3) if (tuum_id := f"tuum{number}") not in ids)


def _build_tuum(key: str, kind: str, name: str) -> dict[str, Any]:
    """One that reads the variable, "" for none."""
    template = f"{{{{{name}}}}}" if name else NOTHING_YET
    rows = find_free_name("rows", {name})
    match kind:
        case "query":
            query = {"runeType": "query", "method": "crm.deal.list", "params": {}, "output": rows}
            told = f"{template}\n{{{{{rows}}}}}" if name else f"{{{{{rows}}}}}"
            return {"tuumId": key, "promptRunes": [query, {"runeType": "prompt", "template": told}], "aiService": "tool"}
        case "script":
            return {"tuumId": key, "mainScript": {"source": "{}", "consumes": [name] if name else [], "produces": []}}
        case "operation":
            task = {"operationType": "CreateEntity", "entityType": "task", "entityId": key, "initialAttributes": {"TITLE": template}}
            return {"tuumId": key, "runes": [{"runeType": "operation", **task}]}
        case "stored":
            return {"id": key, "tuum": ""}
        case _:
            return {"tuumId": key, "promptRunes": [{"runeType": "prompt", "template": template}], "aiService": "tool"}


def list_types(say: Say) -> Sequence[StepChoice]:
    return [StepChoice(value=kind, label=say(f"workflow-add-{kind}"), hint=say(f"workflow-add-{kind}-hint")) for kind in _KINDS]


def build_deeds(tuums: Mapping[str, object] = NO_TUUMS) -> Deeds:
    deeds = WorkflowDeeds(tuums)
    return Deeds(
        list_types=list_types,
        add=deeds.add,
        connect=deeds.connect,
        disconnect=deeds.disconnect,
        remove=deeds.remove,
        with_parts=build_deeds,
    )
