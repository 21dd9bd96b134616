"""Says whether a person may start runs of a definition now; asked when a schedule is made and at each of its moments."""

from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.engines.runs import RunFailed
from orchestrator.runs.nodes import trim_args
from orchestrator.runs.registry import Engines, may_start
from orchestrator.turns.feature import RefreshActor

ENGINE_GONE, NOT_ALLOWED, DEFINITION_GONE = "run-engine-gone", "run-not-allowed", "run-definition-gone"
"""The codes of the reasons."""


class StartChecker:
    """Says for a person, given by key, whether runs may start; used by what makes schedules, which knows no engines."""

    def __init__(self, engines: Engines, present: RefreshActor) -> None:
        """Ask these engines, and `present` for the rights that a person has now."""
        self._engines = engines
        self._present = present

    async def __call__(self, engine: str, definition: str, person: str) -> Notice | None:
        """Return why runs of this definition may not start for the person; None if they may."""
        actor = self._present(Actor(key=person, name=person))
        if actor is None:
            return Notice(code="run-owner-gone")
        return await find_start_refusal(self._engines, engine, definition, actor)


async def find_start_refusal(engines: Engines, engine: str, definition: str, actor: Actor) -> Notice | None:
    """Return why runs of this definition may not start for the actor now; None if they may. May raise what finding definitions raises."""
    registered = engines.runs.get(engine)
    if registered is None:
        return Notice(code=ENGINE_GONE, args=trim_args({"engine": engine}))
    if actor.role not in registered.roles:
        return Notice(code=NOT_ALLOWED, args=trim_args({"definition": definition}))
    try:
        found = await engines.definitions.find(engine, definition)
    except RunFailed as error:  # there is one, and it is switched off, not published or damaged
        return Notice(code=error.code, args=trim_args(error.args_of_notice))
    if found is None or not may_start(actor, registered, found.document):
        return Notice(code=DEFINITION_GONE, args=trim_args({"definition": definition}))
    return None
