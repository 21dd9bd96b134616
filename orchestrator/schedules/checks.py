from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.engines.runs import RunFailed
from orchestrator.runs.nodes import trim_args
from orchestrator.runs.registry import Engines, may_start
from orchestrator.turns.feature import RefreshActor

ENGINE_GONE, NOT_ALLOWED, DEFINITION_GONE = "run-engine-gone", "run-not-allowed", "run-definition-gone"


class StartChecker:
    def __init__(self, engines: Engines, present: RefreshActor) -> None:
        self._engines = engines
        self._present = present

    async def __call__(self, engine: str, definition: str, person: str) -> Notice | None:
        """None if runs may start."""
        actor = self._present(Actor(key=person, name=person))
        if actor is None:
            return Notice(code="run-owner-gone")
        return await find_start_refusal(self._engines, engine, definition, actor)


async def find_start_refusal(engines: Engines, engine: str, definition: str, actor: Actor) -> Notice | None:
    """None if runs may start now. May raise what finding definitions raises."""
    registered = engines.runs.get(engine)
    if registered is None:
        return Notice(code=ENGINE_GONE, args=trim_args({"engine": engine}))
    if actor.role not in registered.roles:
        return Notice(code=NOT_ALLOWED, args=trim_args({"definition": definition}))
    try:
        published = await engines.definitions.find(engine, definition)
    except RunFailed as error:  # there is one, and it is switched off, not published or damaged
        return Notice(code=error.code, args=trim_args(error.args_of_notice))
    if published is None or not may_start(actor, registered, published.document):
        return Notice(code=DEFINITION_GONE, args=trim_args({"definition": definition}))
    return None
