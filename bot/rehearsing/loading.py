"""Loads what a trial of a checked definition needs of others: the scenarios that it may start, its agents, its tuums."""

from collections.abc import Iterable, Mapping
from typing import Any

from bot.rehearsing.trials import Playable, PlayableFlow, PlayableScenario
from engines.flows.core.kind import FLOW
from engines.scenarios.core.kind import KIND as SCENARIO
from engines.scenarios.core.kind import list_uses
from engines.scenarios.core.plan import StepTypes
from engines.workflows.core.kind import WORKFLOW
from engines.workflows.core.rune_types import RuneTypes
from engines.workflows.rehearsal.playing import PlayableWorkflow
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.definitions.references import StoredVersions, is_version_id
from orchestrator.engines.runs import RunFailed
from orchestrator.runs.registry import Definitions
from state.journal.async_store import AsyncStore

TRIED: tuple[str, ...] = (SCENARIO, FLOW, WORKFLOW)
"""The kinds of definitions that can be tried."""


async def load_playable(
    kind: DefinitionKind,
    key: str,
    document: Mapping[str, Any],
    *,
    store: AsyncStore,
    definitions: Definitions,
    types: tuple[StepTypes, RuneTypes],
) -> Playable:
    """Return a definition of one of `TRIED` that can be played; `document` is free of mistakes and names others by their ids.

    Whatever its triggers say, its author may try it. Raises StoreError.
    """
    step_types, rune_types = types
    if kind.name == SCENARIO:
        documents = await _load_scenarios(key, document, definitions, step_types)
        return PlayableScenario(key=key, documents=documents, types=step_types)
    named = await _load_named((one.written for one in kind.list_references(document)), store)
    free = {name: one for name, one in document.items() if name != "triggers"}
    if kind.name == FLOW:
        return PlayableFlow(key=key, document=free, agents=named)
    return PlayableWorkflow(key=key, document=free, tuums=named, types=rune_types)


async def _load_scenarios(key: str, document: object, definitions: Definitions, types: StepTypes) -> Mapping[str, Any]:
    """Return the scenario with all that are listed, and those that they start by name."""
    found: dict[str, Any] = {one.key: one.document for one in await definitions.list_all(SCENARIO)}
    found[key] = document
    left = [name for one in tuple(found.values()) for engine, name in list_uses(one, types) if engine == SCENARIO]
    while left:
        name = left.pop()
        if name in found:
            continue
        try:
            one = await definitions.find(SCENARIO, name)
        except RunFailed:  # switched off or never published: the trial fails there, as a run would
            continue
        if one is not None:
            found[name] = one.document
            left += [used for engine, used in list_uses(one.document, types) if engine == SCENARIO]
    return found


async def _load_named(ids: Iterable[str], store: AsyncStore) -> Mapping[str, object]:
    """Return the documents of versions by their ids."""
    versions, found = StoredVersions(store), dict[str, object]()
    for one in dict.fromkeys(ids):
        version = await versions.find_by_id(one.lower()) if is_version_id(one) else None
        if version is not None:
            found[one] = version.document
    return found
