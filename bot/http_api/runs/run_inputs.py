"""Starts, orders and answers of the API's callers: checked as far as can be told at once, then stored for the run's own code."""

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
from state.journal.journal import to_stream
from state.journal.run_index import PREFIX
from state.journal.store import StoredEvent
from state.model.run_state import RunWait

BEGIN_WITHIN: Final = 5.0
"""Seconds that a request waits until the run has begun."""


class RunInputs:
    """One instance per app. All methods raise ApiError and StoreError."""

    def __init__(self, desk: EndpointContext, reader: RunReader, engines: Engines) -> None:
        self._desk, self._reader, self._engines = desk, reader, engines

    async def start_run(self, client: Client, body: RunBody, key: str | None, *, version: int = 0, by_person: bool = False) -> RunAccepted:
        """The same Idempotency-Key `key` gives the same run. `version` must be in force when it begins; `by_person`: chosen from a list."""
        await check_start(self._engines, client, body.engine, body.definition, arg_names=body.args, by_person=by_person)
        home = body.home or find_own_chat(client.actor.key)
        await check_home(self._desk, client, home)
        origins = OWN_WORDS if by_person and not client.customers else client.value_origins
        args = {name: Value(to_storable(value), origins) for name, value in body.args.items()}
        order = RunStart(engine=body.engine, definition=body.definition, home=home, args=format_args(args))
        order = order.model_copy(update={"version": version}) if version else order
        fresh = generate_id()
        source = f"{client.actor.key}:run:{hash_text(key)}" if key is not None else f"start:{PREFIX}{fresh}"
        launch = order.to_json()
        row = self._desk.build_row(client, f"{PREFIX}{fresh}", order, source=source, lane="turn", request=hash_text(dumps(launch)))
        submitted = await self._desk.submit(row, lambda event, _: event.type == RunStarted.__name__, within=BEGIN_WITHIN)
        return RunAccepted(id=submitted.row.session.removeprefix(PREFIX), home=home)

    async def submit_order(self, client: Client, found_run: FoundRun, order: Order) -> tuple[Run, bool]:
        """As it is then, and whether the order was already worked."""
        if not may_control(client.actor, found_run.run):
            raise ApiError(
                403, "not_your_run", f"Only the owner of a run, leads and administrators may {order} it; use a token of one of them."
            )
        if found_run.run.status not in FITTING[order]:
            raise _build_late(order, found_run.run.status)
        row = self._desk.build_row(client, found_run.key, RunOrder(order=order))
        submitted = await self._desk.submit(row, lambda event, _: is_carried_out(event, order))
        now = await self._reader.find_run(client, found_run.run_id)
        if submitted.status == "refused":
            raise _build_late(order, now.run.status)
        return await self._reader.describe_run(client, now), submitted.status == "done"

    async def submit_answer(self, client: Client, found_run: FoundRun, question: str, body: AnswerBody) -> tuple[Run, bool]:
        """The run as it is then, and whether the answer was already worked."""
        if (body.option is None) == (body.text is None or not body.text.strip()):
            raise ApiError(400, "invalid_request", "option, text: give one of them and not both; text must not be blank.")
        waiting = ((node, wait) for node, wait in found_run.run.waits.items() if wait.on == "input" and wait.waits_for == question)
        node, wait = next(waiting, ("", None))
        if wait is None:
            complaint = (
                f"question: the run does not wait for an answer to {question!r}; GET /runs/{found_run.run_id} shows its open questions."
            )
            raise ApiError(409, "question_closed", complaint)
        if client.actor.key not in wait.answers:
            raise ApiError(403, "not_your_question", "question: the run asked somebody else; `answers` of the run's `waits` says whom.")
        if found_run.run.status == "paused":
            raise ApiError(409, "run_paused", f"The run is paused: POST /runs/{found_run.run_id}/resume first.")
        text = to_storable_text(body.text or "").strip()
        words = {"quoted": text} if client.customers else {"text": text}
        run_answer = RunAnswer(question_id=question, option=body.option, **words)
        if not is_answer_fitting(run_answer, wait):
            raise ApiError(400, "answer_unfit", _describe_unfit(body, wait))
        fits = partial(_is_answer, node=node, by=client.actor.key, run_answer=run_answer)
        submitted = await self._desk.submit(self._desk.build_row(client, found_run.key, run_answer), lambda event, _: fits(event))
        if submitted.status == "refused":
            raise ApiError(409, "question_closed", "Somebody else was first, or the run went on without an answer.")
        return await self._reader.describe_run(client, await self._reader.find_run(client, found_run.run_id)), submitted.status == "done"


async def check_start(
    engines: Engines, client: Client, engine: str, definition: str, *, arg_names: Iterable[str] = (), by_person: bool = False
) -> None:
    """Raises ApiError 404, 403 for the role, 409 if it may not start now, 400 for values that only the program gives.

    People are offered only what is listed for them.
    """
    registered = engines.runs.get(engine)
    match = await _find_definition(engines, engine, definition) if registered is not None else None
    if registered is not None and match is not None and client.customers and not registered.is_for_customers(match.document):
        match = None  # it does not exist for customers
    if registered is None or match is None:
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
    if not (registered.is_listed if by_person else registered.is_for_programs)(match.document):
        raise ApiError(409, "not_from_programs", f"definition: {definition!r} says that it is not started over HTTP.")
    if name := registered.find_reserved(match, arg_names):
        raise ApiError(400, "reserved_name", f"args.{name}: only the program gives this value; leave it out.")


async def _find_definition(engines: Engines, engine: str, definition: str) -> Definition | None:
    """None if there is none. Raises ApiError 409 for one that may not be started now."""
    try:
        return await engines.definitions.find(engine, definition)
    except RunFailed as error:
        raise ApiError(409, error.code.removeprefix("run-").replace("-", "_"), f"definition: {error.detail}.") from None


async def check_home(desk: EndpointContext, client: Client, home: str) -> None:
    """Raises ApiError 403 unless it is the token's own session or one that an administrator may read."""
    if home == find_own_chat(client.actor.key):
        return
    viewer = desk.build_viewer(client)
    if viewer.is_own(home) and len(home) > len(client.actor.key) + 1:
        return
    seq, _ = await desk.store.read_head(to_stream(home))
    reader = desk.build_viewer(replace(client, actor=client.helper)) if client.helper is not None else viewer
    if not (reader.may_see_session(home) and seq):
        complaint = f"home: {home!r} is none of the token's own sessions; leave it out, or name one such as {client.actor.key}:42."
        raise ApiError(403, "not_your_session", complaint)


def _describe_unfit(body: AnswerBody, wait: RunWait) -> str:
    buttons = f"one of its buttons as option, 0 to {wait.options - 1}" if wait.options else "no buttons"
    wrong = f"option: the question has no button {body.option}" if body.option is not None else "text: the question takes no text"
    return f"{wrong}; it takes {', '.join([buttons, *wait.takes])}."


def _is_answer(event: StoredEvent, node: str, by: str, run_answer: RunAnswer) -> bool:
    """Exactly this one: the same person may have given another at the same time."""
    if event.type != RunWoken.__name__:
        return False
    woken = RunWoken.from_data(event.data)
    return (woken.node, woken.by, woken.value) == (node, by, store_answer(run_answer)[0])


def _build_late(order: Order, status: str) -> ApiError:
    return ApiError(409, "order_late", describe_late_order(order, status))
