"""Sandbox portal, core: one call from who and what to an answer, with limits, faults and the ledger; knows no HTTP server."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from sandbox.portal import seed
from sandbox.portal.batch import run_batch
from sandbox.portal.context import Call
from sandbox.portal.errors import ConnectionDroppedError, PortalError, method_not_found
from sandbox.portal.events import EventSender, Raised
from sandbox.portal.faults import Fault, FaultBox
from sandbox.portal.ledger import Ledger
from sandbox.portal.limits import Bucket, OperatingLimit, RequestLimit
from sandbox.portal.methods import HANDLERS, canonical
from sandbox.portal.oauth import Tokens
from sandbox.portal.query import Page
from sandbox.portal.schema import Row
from sandbox.portal.store import Change, Store
from sandbox.portal.values import PORTAL_ZONE

WEBHOOK_CODE = "sandbox"
_log = logging.getLogger(__name__)
_CUT = frozenset({"commit_then_drop"})


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Settings:
    """How this portal is set up; `data` empty keeps everything in memory."""

    data: Path | None = None
    clock: Callable[[], datetime] = utc_now
    bucket: Bucket | None = field(default_factory=Bucket)
    operating_limit: float | None = 480.0
    bulk_deals: int = 0
    wrong_code_error: Literal["INVALID_CREDENTIALS", "NO_AUTH_FOUND"] = "INVALID_CREDENTIALS"


@dataclass(frozen=True)
class Request:
    """One REST request taken off the wire: method as it was sent, and who asks."""

    method: str
    params: Row
    source: str
    base_url: str
    http: str
    user_id: int | None = None
    code: str | None = None


@dataclass(frozen=True)
class Answer:
    """What the portal answers: a status and a body."""

    status: int
    body: Row


@dataclass(frozen=True)
class Caller:
    """Who runs a command, in which line of the ledger, and under which key of a batch."""

    user: int
    by_app: bool
    line: int
    batch_key: str | None = None


class Portal:
    """The records and everything around them; one event loop uses it, one call at a time."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = Store(settings.data)
        self.faults = FaultBox()
        self.tokens = Tokens()
        self.ledger = Ledger(self.store)
        self.events = EventSender(self.store, self.ledger, self.tokens)
        self._operating = OperatingLimit(settings.operating_limit)
        self._requests = RequestLimit(settings.bucket)
        self._raised: list[Raised] = []
        self._actor: int | None = None
        self.store.watch = self._note
        if not len(self.store.table("user")):
            self._seed()

    @property
    def now(self) -> datetime:
        """The portal's clock."""
        return self.settings.clock()

    def reset(self) -> None:
        """Back to the seeded state: records, faults, limits, feed."""
        self.store.wipe()
        self.ledger.clear()
        self.faults.armed.clear()
        self._requests = RequestLimit(self.settings.bucket)
        self._operating = OperatingLimit(self.settings.operating_limit)
        self._seed()

    def edit(self, entity: str, row: Row) -> None:
        """Somebody changes a record in the portal's pages: a change in the feed, no call."""
        self._actor = None
        self.store.put(entity, row)
        self.store.commit()

    def refuse(self, request: Request, fault: Fault, status: int, code: str) -> None:
        """Note a call that a fault stopped before anything was executed."""
        line = self._open(request)
        self.ledger.close_call(line, status, code, fault=fault.kind)
        self.store.commit()

    def announce(self, request: Request, fault: Fault) -> Row:
        """Show a call that has arrived and waits; `handle` completes the same line."""
        line = self._open(request)
        line["fault"] = fault.kind
        self.ledger.wake()
        return line

    def handle(self, request: Request, fault: Fault | None = None, *, announced: Row | None = None) -> Answer:
        """Execute one call and note it; raise ConnectionDroppedError if a fault cuts the line after the commit."""
        line = self._open(request) if announced is None else announced
        line["fault"] = fault.kind if fault else None
        before, dropped = self.store.writes, None
        try:
            answer = self._answer(request, line, show_operating=fault is None or fault.kind != "no_operating")
            if fault is not None and fault.kind == "commit_then_drop":
                dropped = ConnectionDroppedError()
        except ConnectionDroppedError as cut:
            dropped, answer = cut, Answer(200, {})
        if fault is not None and fault.kind == "delay":
            self._operating.add(str(line["name"]), self.now, fault.seconds)
        self.ledger.close_call(
            line,
            None if dropped else answer.status,
            "dropped" if dropped else answer.body.get("error", "ok"),
            applied=self.store.writes > before,
            error_description=answer.body.get("error_description"),
        )
        if announced is not None:
            self.ledger.note_closed(line, self.now)
        self.store.commit()
        self._send_events(request.base_url)
        if dropped:
            raise dropped
        return answer

    def close(self) -> None:
        """Let the store go."""
        self.store.close()

    def _seed(self) -> None:
        with self.store.unwatched():
            seed.fill(self.store, self.now, self.settings.bulk_deals)
        self.store.commit()

    def _open(self, request: Request) -> Row:
        name = canonical(request.method)
        return self.ledger.open_call(request.method, request.params, self.now, name=name, http=request.http, user=request.user_id)

    def _answer(self, request: Request, line: Row, *, show_operating: bool) -> Answer:
        try:
            caller = self._authenticate(request, line["seq"])
            line["user"] = self._actor = caller.user
            self._requests.admit(request.source, self.now)
            params = {k: v for k, v in request.params.items() if k != "auth"}
            body = self._execute(caller, request.method, params)
        except PortalError as error:
            return Answer(error.status, error.body())
        except ConnectionDroppedError:
            raise
        except Exception:  # noqa: BLE001  (the door: whatever a strange parameter breaks, a portal answers 500 and goes on)
            _log.exception("method failed", extra={"method": request.method})
            return Answer(500, PortalError(500, "INTERNAL_SERVER_ERROR", "Internal server error").body())
        if not show_operating:
            for name in ("operating", "operating_reset_at"):
                body["time"].pop(name, None)
        return Answer(200, body)

    def _authenticate(self, request: Request, line: int) -> Caller:
        if request.code is None:
            token = self.tokens.find(str(request.params.get("auth") or ""))
            if token is None:
                raise PortalError(401, "NO_AUTH_FOUND", "Wrong authorization data")
            if token.expires <= self.now:
                raise PortalError(401, "expired_token", "The access token provided has expired.")
            return Caller(token.user_id, True, line)
        user = self.store.get("user", request.user_id or 0)
        if request.code != WEBHOOK_CODE or user is None or not user["ACTIVE"]:
            raise PortalError(401, self.settings.wrong_code_error, "Invalid request credentials")
        return Caller(int(user["ID"]), False, line)

    def _execute(self, caller: Caller, sent: str, params: Row) -> Row:
        """The success body of one command, inner or outer; raise PortalError otherwise."""
        name = canonical(sent)
        if name is None:
            raise method_not_found()
        now, started = self.now, time.perf_counter()
        if name == "batch":
            if caller.batch_key is not None:
                raise PortalError(405, "ERROR_BATCH_METHOD_NOT_ALLOWED", "Method is not allowed for batch usage")
            result: Any = run_batch(params, lambda key, m, p: self._inner(replace(caller, batch_key=key), m, p))
        else:
            self._operating.admit(name, now)
            call = Call(self.store, caller.user, caller.by_app, now, params, self._raise, HANDLERS)
            result = HANDLERS[name](call)
            self._operating.add(name, now, time.perf_counter() - started)
        return self._envelope(result, name, now)

    def _inner(self, caller: Caller, sent: str, params: Row) -> Row:
        """One command of a batch, with its own line, commit and perhaps a cut right after it."""
        name = canonical(sent)
        links = {"user": caller.user, "batch": caller.line, "key": caller.batch_key}
        line = self.ledger.open_call(sent, params, self.now, name=name, http="batch", **links)
        before = self.store.writes
        try:
            body = self._execute(caller, sent, params)
        except PortalError as error:
            self.ledger.close_call(line, error.status, error.code, error_description=error.text)
            raise
        else:
            self.ledger.close_call(line, 200, "ok", applied=self.store.writes > before)
        finally:
            self.store.commit()
        if self.faults.take(name or sent, _CUT):
            raise ConnectionDroppedError
        return body

    def _envelope(self, result: Any, name: str, started: datetime) -> Row:
        body: Row = {"result": result}
        if isinstance(result, Page):
            body = {"result": {result.box: result.rows} if result.box else result.rows, "total": result.total}
            if result.next is not None:
                body["next"] = result.next
        finished = self.now
        spent = (finished - started).total_seconds()
        body["time"] = {
            "start": started.timestamp(),
            "finish": finished.timestamp(),
            "duration": spent,
            "processing": spent,
            "date_start": started.astimezone(PORTAL_ZONE).isoformat(timespec="seconds"),
            "date_finish": finished.astimezone(PORTAL_ZONE).isoformat(timespec="seconds"),
        }
        if self._operating.seconds is not None:
            body["time"]["operating_reset_at"] = self._operating.reset_at(name, finished)
            body["time"]["operating"] = self._operating.spent(name, finished)
        return body

    def _raise(self, event: str, data: Row) -> None:
        self._raised.append(Raised(event, data, self._actor or 0, self.now))

    def _send_events(self, base_url: str) -> None:
        raised, self._raised = self._raised, []
        for event in raised:
            self.events.send(event, base_url)

    def _note(self, change: Change) -> None:
        self.ledger.note_change(change, self.now, self._actor)
