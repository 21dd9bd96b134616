"""Fixes which texts a run executes, as blobs named by their digests."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from zoneinfo import ZoneInfo

from orchestrator.domain.actor import Actor
from orchestrator.domain.run_inputs import RunStart
from orchestrator.engines.runs import Definition, RunFailed, RunInfo
from orchestrator.runs.memo import read_args
from orchestrator.runs.registry import Engines
from orchestrator.turns.feature import Tools
from state.canonical import dumps, hash_text, loads
from state.clock import parse_iso
from state.events.runs import RunStarted
from state.journal.async_store import AsyncStore
from state.model.run_state import RunState

MAX_USED: Final = 500
"""Definitions beyond these are looked up when they are started."""


async def find_definitions(order: RunStart, engines: Engines, store: AsyncStore) -> list[Definition]:
    """The own one first, empty if there is none; texts that the parent fixed as they were then.

    Raises RunFailed if a fixed text is gone or damaged, no run may begin, or another version is in force.
    """
    await engines.definitions.check_start(order.engine, order.definition)
    own = order.engine, order.definition
    fixed = {_name_of(one, order.engine): one for one in order.pinned}

    async def find(name: tuple[str, str]) -> Definition | None:
        if name in fixed:
            return await _load_text(fixed[name], order.engine, store)
        try:
            definition = await engines.definitions.find(*name)
        except RunFailed:
            if name == own:
                raise
            return None  # as one that is missing: it is refused when it is to be started
        if definition is not None and name == own and order.version not in {0, definition.version}:
            detail = f"version {order.version} of {name[1]} is not in force any more"
            raise RunFailed("run-definition-changed", detail, definition=name[1], version=order.version)
        return replace(definition, engine=name[0]) if definition is not None else None

    names = [own]
    definitions: dict[tuple[str, str], Definition] = {}
    for name in names:  # it grows by what each one uses
        if name in definitions or len(definitions) > MAX_USED:
            continue
        used_definition = await find(name)
        if used_definition is not None:  # what is used and not there yet is looked up when it is to be started, and missed then
            definitions[name] = used_definition
            names.extend(_list_uses(used_definition, engines))
    return list(definitions.values())


async def describe_run(key: str, run: RunState, started: RunStarted, started_at: str, tools: Tools) -> RunInfo:
    """Raises RunFailed if the text of its definition is gone or damaged."""
    then = Actor.model_validate(run.actor)
    return RunInfo(
        run_id=key.removeprefix("run:"),
        definition=await load_definition(started, tools),
        owner=run.owner,
        home=run.home,
        owner_name=then.name,
        employee=then.bitrix_user_id,
        time_zone=then.time_zone,
        today=parse_iso(started_at).astimezone(ZoneInfo(then.time_zone)).date().isoformat(),
        parent=run.parent,
        depth=started.depth,
        replay=run.replay,
        args=read_args(started),
        pins=list_pins(started),
    )


def build_pins(definitions: Sequence[Definition]) -> list[dict[str, Any]]:
    """{engine, definition, version, digest, edition} of each."""
    return [
        {
            "engine": one.engine,
            "definition": one.key,
            "version": one.version,
            "digest": hash_text(dumps(one.document)),
            "edition": one.edition,
        }
        for one in definitions
    ]


def list_pins(started: RunStarted) -> list[dict[str, Any]]:
    """Its own text and those that its children execute."""
    return [_build_own_pin(started), *started.pinned]


def build_blobs(definitions: Sequence[Definition]) -> dict[str, str]:
    """Their texts by digest."""
    texts = (dumps(definition.document) for definition in definitions)
    return {hash_text(text): text for text in texts}


async def load_definition(started: RunStarted, tools: Tools) -> Definition:
    """Raises RunFailed if its text is gone or damaged."""
    return await _load_text(_build_own_pin(started), started.engine, tools.store, started.title)


def _build_own_pin(started: RunStarted) -> dict[str, Any]:
    return {name: getattr(started, name) for name in ("engine", "definition", "version", "digest", "edition")}


async def _load_text(pin: Mapping[str, Any], engine: str, store: AsyncStore, title: str = "") -> Definition:
    """`engine` stands in for old pins that name none; `title` is for the sentence of the failure."""
    key = str(pin["definition"])
    text = await store.load_blob(str(pin["digest"]))
    if text is None:
        raise RunFailed("run-definition-gone", f"the text of {key} is gone", definition=title or key)
    if hash_text(text) != pin["digest"]:  # what is left of it is not what its author wrote
        raise RunFailed("run-definition-damaged", f"the text of {key} is not the one with which the run began", definition=title or key)
    return Definition(engine=_name_of(pin, engine)[0], key=key, version=pin["version"], document=loads(text), edition=pin.get("edition", 0))


def _name_of(pin: Mapping[str, Any], engine: str) -> tuple[str, str]:
    return str(pin.get("engine") or engine), str(pin["definition"])


def _list_uses(definition: Definition, engines: Engines) -> list[tuple[str, str]]:
    registered = engines.runs.get(definition.engine)
    try:
        return [(str(engine), str(key)) for engine, key in registered.list_uses(definition.document)] if registered is not None else []
    except Exception:  # noqa: BLE001 - an author's mistake may raise anything
        return []
