"""Sandbox portal, core: executes one parsed call and records it in the ledger (log of calls).

This includes authentication, limits, faults and events, but no HTTP.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from sandbox.portal import records, seed, seed_file
from sandbox.portal.batch import run_batch
from sandbox.portal.context import Call
from sandbox.portal.errors import ConnectionDroppedError, PortalError, method_not_found
from sandbox.portal.events import EventSender, Raised
from sandbox.portal.faults import Fault, FaultBox
from sandbox.portal.firm.fill import add_own_fields, fill_firm, remove_own_fields
from sandbox.portal.firm.size import Firm
from sandbox.portal.ledger import Ledger
from sandbox.portal.limits import Bucket, OperatingLimit, Owner, Pace, RequestLimit
from sandbox.portal.methods import HANDLERS, Handler, canonical, classic
from sandbox.portal.oauth import Tokens
from sandbox.portal.query import Page
from sandbox.portal.rights import EVERYTHING
from sandbox.portal.schema import BY_TYPE_ID, Row
from sandbox.portal.stats import Stats
from sandbox.portal.store import Change, Store
from sandbox.portal.values import PORTAL_ZONE

WEBHOOK_CODE = "sandbox"
_log = logging.getLogger(__name__)
_CUT = frozenset({"commit_then_drop"})
_KINDS = {schema.kind: schema for schema in BY_TYPE_ID.values()}


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Settings:
    """The configuration of a portal. `data` is its folder; without one everything is kept in memory."""

    data: Path | None = None
    clock: Callable[[], datetime] = utc_now
    bucket: Bucket | None = field(default_factory=Bucket)
    operating_limit: float | None = 480.0
    bulk_deals: int = 0
    firm: Firm | None = None
    seed: int = 0
    seed_file: Path | None = None
    wrong_code_error: Literal["INVALID_CREDENTIALS", "NO_AUTH_FOUND"] = "INVALID_CREDENTIALS"


@dataclass(frozen=True)
class Request:
    """One parsed REST request: the method name as sent, the parameters and the credentials.

    `params` contains the parameters of both versions. REST v3 also reads `body`, the JSON as sent, and `key`, the idempotency key.
    """

    method: str
    params: Row
    source: str
    base_url: str
    http: str
    user_id: int | None = None
    code: str | None = None
    api: Literal[2, 3] = 2
    body: Any = None
    key: str | None = None
    trace: str | None = None


@dataclass(frozen=True)
class Answer:
    """The portal's answer: status, body, and additional headers."""

    status: int
    body: Row
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Caller:
    """The authenticated caller of a command: the user, and whether an application or a webhook calls.

    `line` is the number of the call's line in the ledger (log of calls). `batch_key` is the key of the command in its batch, None
    outside a batch.
    """

    user: int
    by_app: bool
    line: int
    batch_key: str | None = None

    def owner(self, method: str) -> Owner:
        """Return the key of the time budget that a call of this method uses.

        The application and every webhook have a budget of their own for each method.
        """
        return ("application" if self.by_app else f"webhook of {self.user}", method)


Way = Callable[[Request, Row], Answer]  # answers one version of REST; the row is the call's line in the ledger


class Portal:
    """The simulated portal: its records, tokens, faults, limits and ledger (log of calls).

    It executes one call at a time in one event loop.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = Store(settings.data)
        self.faults = FaultBox()
        self.tokens = Tokens(self.store)
        self.ledger = Ledger(self.store)
        self.stats = Stats()
        self.events = EventSender(self.store, self.ledger, self.tokens)
        self.raised: list[Raised] = []
        self.commands = 0
        self.totals = 0
        self._actor: int | None = None
        self._base_url = "/"
        self._is_closed = False
        self.store.watch = self._note
        self._fresh_limits()
        self._own = seed_file.read_seed(settings.seed_file) if settings.seed_file is not None else None
        if self._own is not None:
            seed_file.add_fields(self._own)
        if settings.firm is not None:
            add_own_fields(settings.firm)
        if not len(self.store.table("user")):
            self._seed()
        self.store.commit()

    @property
    def now(self) -> datetime:
        """The current time by the portal's clock."""
        return self.settings.clock() + self.ahead

    def reset(self) -> None:
        """Restore the sample data and clear the log of calls, the faults, the counters, the limits, the latency, the rights and the clock.

        Tokens stay valid.
        """
        self.store.wipe()
        self.ledger.clear()
        self.faults.armed.clear()
        self.stats.clear()
        self._fresh_limits()
        self._seed()

    def edit(self, entity: str, row: Row, base_url: str) -> None:
        """Change a record as a person does in the portal's web pages: this raises an event and logs a change, but no call."""
        self._actor = None
        self.store.put(entity, row)
        self.store.commit()
        if entity in _KINDS:
            for name, fields in records.events(_KINDS[entity], "UPDATE", row["ID"]):
                self._raise(name, {"FIELDS": fields})
        elif entity == "task":
            self._raise("ONTASKUPDATE", {"FIELDS_BEFORE": {"ID": row["ID"]}, "FIELDS_AFTER": {"ID": row["ID"]}})
        self._send_events(base_url)

    def erase(self, entity: str, number: int) -> None:
        """Delete a CRM record with all that belongs to it and raise no event, as when a handler failed. Raises KeyError without one."""
        self._actor = None
        call = Call(self.store, 0, False, self.now, {}, lambda _event, _data: None, ())
        records.delete(call, _KINDS[entity], self.store.table(entity).rows[number])
        self.store.commit()

    def refuse(self, request: Request, fault: str, status: int, code: str) -> None:
        """Record in the log of calls a call that a fault stopped before anything was executed, with the status and code of its answer."""
        line = self._open(request)
        self.close_line(line, status, code, fault=fault)
        self.store.commit()

    def announce(self, request: Request, fault: Fault) -> Row:
        """Add a line for a call that a fault delays to the ledger (log of calls), and return it.

        The caller passes the line to `handle`, which completes it.
        """
        line = self._open(request)
        line["fault"] = fault.kind
        self.ledger.wake()
        return line

    def handle(self, request: Request, fault: Fault | None = None, *, announced: Row | None = None, way: Way | None = None) -> Answer:
        """Execute one call, record it in the ledger (log of calls), send its events, and return the answer.

        `announced` is the line from `announce`, if there is one. `way` is the function that answers the request; the default is REST v2.
        Raises ConnectionDroppedError if a fault cuts the connection after the commit.
        """
        line = self._open(request) if announced is None else announced
        kind = fault.kind if fault else None
        line["fault"] = kind
        self._base_url = request.base_url
        before, dropped = self.store.writes, kind == "commit_then_drop"
        try:
            answer = self._answer(request, line, way or self._v2)
        except ConnectionDroppedError:
            dropped, answer = True, Answer(200, {})
        if kind == "no_operating":
            _hide_operating(answer.body)
        if fault is not None and kind == "delay" and line["user"] is not None:
            caller = Caller(line["user"], request.code is None, line["seq"])
            self.operating.add(caller.owner(str(line["name"])), self.now, fault.seconds)
        outcome, text = _outcome(answer.body)
        status = None if dropped else answer.status
        applied = self.store.writes > before
        self.close_line(line, status, "dropped" if dropped else outcome, applied=applied, error_description=text)
        if announced is not None:
            self.ledger.note_closed(line, self.now)
        self.store.commit()
        self._send_events(request.base_url)
        if dropped:
            raise ConnectionDroppedError
        return answer

    def authenticate(self, request: Request, line: Row) -> Caller:
        """Return the caller of a request and write its user into `line`, the request's line in the log of calls.

        Raises PortalError for a wrong webhook code or token.
        """
        if request.code is None:
            token = self.tokens.find(str(request.params.get("auth") or ""))
            if token is None:
                raise PortalError(401, "NO_AUTH_FOUND", "Wrong authorization data")
            if token.expires <= self.now:
                raise PortalError(401, "expired_token", "The access token provided has expired.")
            caller = Caller(token.user_id, True, line["seq"])
        else:
            user = self.store.get("user", request.user_id or 0)
            if request.code != WEBHOOK_CODE or user is None or not user["ACTIVE"]:
                raise PortalError(401, self.settings.wrong_code_error, "Invalid request credentials")
            caller = Caller(int(user["ID"]), False, line["seq"])
        line["user"] = self._actor = caller.user
        return caller

    def perform(self, caller: Caller, name: str, handler: Handler, params: Row) -> Row:
        """Run one method (not `batch`) and return the body of its answer. Raises PortalError, also if its time budget is used up."""
        now, started, owner = self.now, time.perf_counter(), caller.owner(name)
        self.rights.check(name)
        self.operating.admit(owner, now)
        self.commands += 1
        result = handler(Call(self.store, caller.user, caller.by_app, now, params, self._raise, HANDLERS, self.rights, self._base_url))
        slow = self.pace.command
        if isinstance(result, Page) and result.total:
            self.totals += 1
            slow += self.pace.total
        self.operating.add(owner, now, time.perf_counter() - started + slow)
        return self.envelope(result, owner, now)

    def open_command(self, caller: Caller, sent: str, params: Any, key: str) -> Row:
        """Add a line for one command of a batch to the log of calls and return it; `key` is the key of the command in the batch."""
        links = {"user": caller.user, "batch": caller.line, "key": key}
        return self.ledger.open_call(sent, params, self.now, name=canonical(sent), http="batch", **links)

    def close_line(self, line: Row, status: int | None, outcome: str | int, **more: Any) -> None:
        """Complete the line of a call in the log of calls, and count the call in the statistics."""
        self.ledger.close_call(line, status, outcome, **more)
        self.stats.note(line)

    def envelope(self, result: Any, owner: Owner, started: datetime) -> Row:
        """Return the answer body around a result: `result`, `time`, and for a page of a list also `total` and `next`."""
        body: Row = {"result": result}
        if isinstance(result, Page):
            rows = result.keyed or (result.rows if result.ready is None else result.ready)
            body = {"result": {result.box: rows} if result.box else rows, "total": result.total}
            if result.next is not None:
                body["next"] = result.next
        finished = self.now
        spent = (finished - started).total_seconds() + self.pace.command
        body["time"] = {
            "start": started.timestamp(),
            "finish": finished.timestamp(),
            "duration": spent,
            "processing": spent,
            "date_start": started.astimezone(PORTAL_ZONE).isoformat(timespec="seconds"),
            "date_finish": finished.astimezone(PORTAL_ZONE).isoformat(timespec="seconds"),
        }
        if self.operating.seconds is not None:
            body["time"]["operating_reset_at"] = self.operating.reset_at(owner, finished)
            body["time"]["operating"] = self.operating.spent(owner, finished)
        return body

    def close(self) -> None:
        """Close the store, and take away the custom fields of the seed file."""
        self.store.close()
        if self._own is not None:
            seed_file.remove_fields(self._own)
            self._own = None
        if self.settings.firm is not None and not self._is_closed:
            remove_own_fields(self.settings.firm)
        self._is_closed = True

    def _fresh_limits(self) -> None:
        self.requests = RequestLimit(self.settings.bucket)
        self.operating = OperatingLimit(self.settings.operating_limit)
        self.pace = Pace()
        self.renamed: str | None = None
        self.rights = EVERYTHING
        self.ahead = timedelta()

    def _seed(self) -> None:
        seed.fill(self.store, self.now, self.settings.bulk_deals, self.settings.seed)
        if self.settings.firm is not None:
            fill_firm(self.store, self.now.replace(minute=0, second=0, microsecond=0), self.settings.firm, self.settings.seed)
        if self._own is not None:
            seed_file.add_records(self.store, self.now, self._own)
        self.store.commit()
        if self.settings.bulk_deals:
            classic.make_ready(self.store, "deal")

    def _open(self, request: Request) -> Row:
        name, params = canonical(request.method), request.body if isinstance(request.body, list) else request.params
        told = {"http": request.http, "user": request.user_id, "trace": request.trace}
        return self.ledger.open_call(request.method, params, self.now, name=name, **told)

    def _answer(self, request: Request, line: Row, way: Way) -> Answer:
        try:
            return way(request, line)
        except PortalError as error:
            return Answer(error.status, error.body())
        except ConnectionDroppedError:
            raise
        except Exception:  # noqa: BLE001  (the door: whatever a strange parameter breaks, a portal answers 500 and goes on)
            _log.exception("method failed", extra={"method": request.method})
            return Answer(500, PortalError(500, "INTERNAL_SERVER_ERROR", "Internal server error").body())

    def _v2(self, request: Request, line: Row) -> Answer:
        caller = self.authenticate(request, line)
        self.requests.admit(request.source, self.now)
        return Answer(200, self._execute(caller, request.method, {k: v for k, v in request.params.items() if k != "auth"}))

    def _execute(self, caller: Caller, sent: str, params: Row) -> Row:
        """Execute one command, of a batch or alone, and return the body of its answer. Raises PortalError if it fails."""
        name, now = canonical(sent), self.now
        if name is None:
            raise method_not_found()
        if name != "batch":
            return self.perform(caller, name, HANDLERS[name], params)
        if caller.batch_key is not None:
            raise PortalError(405, "ERROR_BATCH_METHOD_NOT_ALLOWED", "Method is not allowed for batch usage")
        result = run_batch(params, lambda key, m, p: self._inner(replace(caller, batch_key=key), m, p))
        return self.envelope(result, caller.owner(name), now)

    def _inner(self, caller: Caller, sent: str, params: Row) -> Row:
        """Execute one command of a batch and return the body of its answer.

        The command gets a line of its own in the ledger (log of calls), and what it has written is committed before the next command, even
        if it fails. `sent` is the method's name as the caller wrote it. Raises PortalError if the command fails, and ConnectionDroppedError
        if a fault cuts the connection after it.
        """
        line = self.open_command(caller, sent, params, caller.batch_key or "")
        before = self.store.writes
        try:
            body = self._execute(caller, sent, params)
        except PortalError as error:
            self.close_line(line, error.status, error.code, error_description=error.text)
            raise
        else:
            self.close_line(line, 200, "ok", applied=self.store.writes > before)
        finally:
            if self.store.writes > before:  # reads wait for the commit of the whole call
                self.store.commit()
        if self.faults.take(canonical(sent) or sent, _CUT):
            raise ConnectionDroppedError
        return body

    def _raise(self, event: str, data: Row) -> None:
        self.raised.append(Raised(event, data, self._actor or 0, self.now))

    def _send_events(self, base_url: str) -> None:
        raised, self.raised = self.raised, []
        for event in raised:
            self.events.send(event, base_url)

    def _note(self, change: Change) -> None:
        self.ledger.note_change(change, self.now, self._actor)


def _outcome(body: Row) -> tuple[Any, Any]:
    """Return what the log of calls notes of an answer body: (`ok`, None), or the code and the text of the error."""
    error = body.get("error", "ok")
    return (error["code"], error["message"]) if isinstance(error, dict) else (error, body.get("error_description"))


def _hide_operating(body: Row) -> None:
    """Remove the fields `operating` and `operating_reset_at` from an answer body and from the results of a batch.

    A real portal without the time budget does not send them.
    """
    result = body.get("result")
    inner = result.get("result_time") if isinstance(result, dict) else None
    times = list(inner.values()) if isinstance(inner, dict) else inner if isinstance(inner, list) else []
    for spent in (body.get("time", {}), *times):
        spent.pop("operating", None)
        spent.pop("operating_reset_at", None)
