"""Submits what a caller of the API wants of runs: the start of one, an order, or an answer to a question.

Each is stored as an inbox row, as from Telegram or the terminal, and the run's own code accepts or refuses it. These functions only check
first what can be told at once, and read the outcome from the run's events.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Final

from bot.http_api.runs.run_models import AnswerBody, Run, RunAccepted, RunBody
from bot.http_api.runs.run_reader import FoundRun, RunReader
from bot.http_api.server.endpoint_context import EndpointContext
from bot.http_api.server.errors import ApiError
from bot.http_api.server.tokens import OWN_WORDS, Client
from orchestrator.domain.address import find_own_chat
from orchestrator.domain.run_inputs import RunAnswer, RunOrder, RunStart
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import Definition, RunFailed
from orchestrator.runs.inputs import may_control
from orchestrator.runs.memo import format_args
from orchestrator.runs.orders import FITTING, Order, describe_late_order, is_carried_out
from orchestrator.runs.questions import is_answer_fitting, store_answer
from orchestrator.runs.registry import Engines
from state.canonical import dumps, hash_text, to_storable, to_storable_text
from state.clock import generate_id
from state.events.runs import RunStarted, RunWoken
from state.journal.run_index import PREFIX
from state.journal.store import StoredEvent
from state.journal.streams import to_stream
from state.model.run_state import RunWait

BEGIN_WITHIN: Final = 5.0
"""Seconds that a request to start a run waits until the run has begun."""


class RunInputs:
    """Submits starts, orders and answers; one instance per app. All methods raise ApiError and StoreError."""

    def __init__(self, desk: EndpointContext, reader: RunReader, engines: Engines) -> None:
        """Keep the services of the endpoints, and the engines whose runs may be started."""
        self._desk, self._reader, self._engines = desk, reader, engines

    async def start_run(self, client: Client, body: RunBody, key: str | None, *, version: int = 0, by_person: bool = False) -> RunAccepted:
        """Store the order to start a run; a repeated request with the same Idempotency-Key `key` gives the run of the first.

        With `version` the run begins only if that version of the definition is in force then. `by_person` says that a person has chosen it
        from a list and filled in its values, and not a program.
        """
        await check_start(self._engines, client, body.engine, body.definition, given=body.args, by_person=by_person)
        home = body.home or find_own_chat(client.actor.key)
        await check_home(self._desk, client, home)
        origins = OWN_WORDS if by_person and not client.customers else client.value_origins
        args = {name: Value(to_storable(value), origins) for name, value in body.args.items()}
        order = RunStart(engine=body.engine, definition=body.definition, home=home, args=format_args(args))
        order = order.model_copy(update={"version": version}) if version else order
        fresh = generate_id()
        source = f"{client.actor.key}:run:{hash_text(key)}" if key is not None else f"start:{PREFIX}{fresh}"
        asked = order.to_json()
        row = self._desk.build_row(client, f"{PREFIX}{fresh}", order, source=source, lane="turn", request=hash_text(dumps(asked)))
        submitted = await self._desk.submit(row, lambda event, _: event.type == RunStarted.__name__, within=BEGIN_WITHIN)
        return RunAccepted(id=submitted.row.session.removeprefix(PREFIX), home=home)

    async def submit_order(self, client: Client, found: FoundRun, order: Order) -> tuple[Run, bool]:
        """Submit an order to a run. Return the run as it is then, and whether the order was already worked."""
        if not may_control(client.actor, found.run):
            raise ApiError(
                403, "not_your_run", f"Only the owner of a run, leads and administrators may {order} it; use a token of one of them."
            )
        if found.run.status not in FITTING[order]:
            raise _build_late(order, found.run.status)
        row = self._desk.build_row(client, found.key, RunOrder(order=order))
        submitted = await self._desk.submit(row, lambda event, _: is_carried_out(event, order))
        now = await self._reader.find_run(client, found.run_id)
        if submitted.status == "refused":
            raise _build_late(order, now.run.status)
        return await self._reader.describe_run(client, now), submitted.status == "done"

    async def submit_answer(self, client: Client, found: FoundRun, question: str, body: AnswerBody) -> tuple[Run, bool]:
        """Submit an answer to a question of a run. Return the run as it is then, and whether the answer was already worked."""
        if (body.option is None) == (body.text is None or not body.text.strip()):
            raise ApiError(400, "invalid_request", "option, text: give one of them and not both; text must not be blank.")
        waiting = ((node, wait) for node, wait in found.run.waits.items() if wait.on == "input" and wait.waits_for == question)
        node, wait = next(waiting, ("", None))
        if wait is None:
            told = f"question: the run does not wait for an answer to {question!r}; GET /runs/{found.run_id} shows its open questions."
            raise ApiError(409, "question_closed", told)
        if client.actor.key not in wait.answers:
            raise ApiError(403, "not_your_question", "question: the run asked somebody else; `answers` of the run's `waits` says whom.")
        if found.run.status == "paused":
            raise ApiError(409, "run_paused", f"The run is paused: POST /runs/{found.run_id}/resume first.")
        text = to_storable_text(body.text or "").strip()
        said = {"quoted": text} if client.customers else {"text": text}
        run_answer = RunAnswer(question_id=question, option=body.option, **said)
        if not is_answer_fitting(run_answer, wait):
            raise ApiError(400, "answer_unfit", _describe_unfit(body, wait))
        fits = partial(_is_answer, node=node, by=client.actor.key, run_answer=run_answer)
        submitted = await self._desk.submit(self._desk.build_row(client, found.key, run_answer), lambda event, _: fits(event))
        if submitted.status == "refused":
            raise ApiError(409, "question_closed", "Somebody else was first, or the run went on without an answer.")
        return await self._reader.describe_run(client, await self._reader.find_run(client, found.run_id)), submitted.status == "done"


async def check_start(
    engines: Engines, client: Client, engine: str, definition: str, *, given: Iterable[str] = (), by_person: bool = False
) -> None:
    """Raise ApiError 404 if there is no such definition, 403 if the role may not start its runs, 409 if no program may start it now.

    `given` are the names of the values; for one that only the program gives ApiError 400 is raised. A person (`by_person`) is not offered
    what is not listed for people.
    """
    registered = engines.runs.get(engine)
    found = await _find_definition(engines, engine, definition) if registered is not None else None
    if registered is not None and found is not None and client.customers and not registered.is_for_customers(found.document):
        found = None  # it does not exist for customers
    if registered is None or found is None:
        wrong = f"engine: there is no engine {engine!r}" if registered is None else f"definition: there is no {definition!r}"
        known = ", ".join(sorted(engines.runs)) or "none"
        raise ApiError(404, "definition_not_found", f"{wrong}; name a definition of one of the engines: {known}.")
    if client.actor.role not in registered.roles:
        roles = ", ".join(sorted(registered.roles))
        raise ApiError(
            403,
            "not_allowed",
            f"engine: {engine!r} is for {roles}, and this token is a {client.actor.role}; use a token of such a role.",
        )
    if not (registered.is_listed if by_person else registered.is_for_programs)(found.document):
        raise ApiError(409, "not_from_programs", f"definition: {definition!r} says that it is not started over HTTP.")
    if name := registered.find_reserved(found, given):
        raise ApiError(400, "reserved_name", f"args.{name}: only the program gives this value; leave it out.")


async def _find_definition(engines: Engines, engine: str, definition: str) -> Definition | None:
    """Return the definition, None if there is none; raises ApiError 409 for one that may not be started now."""
    try:
        return await engines.definitions.find(engine, definition)
    except RunFailed as error:
        raise ApiError(409, error.code.removeprefix("run-").replace("-", "_"), f"definition: {error.detail}.") from None


async def check_home(desk: EndpointContext, client: Client, home: str) -> None:
    """Raise ApiError 403 unless what a run says may be shown in the session `home`.

    That is one of the token's own sessions or, for the token of an administrator, a conversation that it may read.
    """
    if home == find_own_chat(client.actor.key):
        return
    viewer = desk.build_viewer(client)
    if viewer.is_own(home) and len(home) > len(client.actor.key) + 1:
        return
    seq, _ = await desk.store.read_head(to_stream(home))
    reader = desk.build_viewer(replace(client, actor=client.helper)) if client.helper is not None else viewer
    if not (reader.may_see_session(home) and seq):
        told = f"home: {home!r} is none of the token's own sessions; leave it out, or name one such as {client.actor.key}:42."
        raise ApiError(403, "not_your_session", told)


def _describe_unfit(body: AnswerBody, wait: RunWait) -> str:
    buttons = f"one of its buttons as option, 0 to {wait.options - 1}" if wait.options else "no buttons"
    wrong = f"option: the question has no button {body.option}" if body.option is not None else "text: the question takes no text"
    return f"{wrong}; it takes {', '.join([buttons, *wait.takes])}."


def _is_answer(event: StoredEvent, node: str, by: str, run_answer: RunAnswer) -> bool:
    """Return whether the event says that the node got exactly this answer; the same person may have given another one at the same time."""
    if event.type != RunWoken.__name__:
        return False
    woken = RunWoken.from_data(event.data)
    return (woken.node, woken.by, woken.value) == (node, by, store_answer(run_answer)[0])


def _build_late(order: Order, status: str) -> ApiError:
    return ApiError(409, "order_late", describe_late_order(order, status))
