"""Sandbox portal, REST v3, what all its methods share: authentication, errors, idempotency keys and `batch`.

It uses the limits of the portal.
"""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from typing import Any

import orjson

from sandbox.portal.errors import PortalError, V3Error, access_denied
from sandbox.portal.portal import Answer, Caller, Portal, Request
from sandbox.portal.schema import Row
from sandbox.portal.v3_tasks import METHODS, WRITES
from sandbox.portal.values import parse_moment, store_moment

NOT_JSON = object()  # stands for a body that was not JSON
_KEPT = timedelta(hours=24)
_GOOD_KEY = re.compile(r"[\x20-\x7e]{1,255}")
_BATCH_LIMIT = 50
_REMEMBERED = "idempotency"


class V3:
    """Answers requests of REST v3. The application passes its `answer` to `Portal.handle` as the argument `way`."""

    def __init__(self, portal: Portal) -> None:
        self._portal = portal

    def answer(self, request: Request, line: Row) -> Answer:
        """Return the answer to one request of REST v3; `line` is its line in the ledger (log of calls).

        Raises V3Error. The limits of the portal raise a PortalError, so their answers have the format of REST v2.
        """
        try:
            caller = self._portal.authenticate(request, line)
        except PortalError:
            raise access_denied(401) from None
        self._portal.requests.admit(request.source, self._portal.now)
        if request.body is NOT_JSON:
            raise V3Error(400, "INVALIDJSONEXCEPTION", "Invalid JSON in the request body")
        method = request.method.strip("/").lower()
        line["name"] = method
        if method == "batch":
            return self._batch(caller, request.body)
        return self._once(caller, method, request)

    def _once(self, caller: Caller, method: str, request: Request) -> Answer:
        """Run one method and return its answer.

        A write with an idempotency key that has already succeeded is not run again: its stored answer is returned. Raises V3Error if the
        key is malformed or was used with other parameters.
        """
        if not isinstance(request.body, dict):
            raise V3Error(400, "INVALIDJSONEXCEPTION", "Invalid JSON in the request body")
        params = {name: value for name, value in request.body.items() if name != "auth"}
        if request.key is None or method not in WRITES:
            return Answer(200, self._run(caller, method, params))
        if _GOOD_KEY.fullmatch(request.key) is None:
            raise V3Error(400, "INVALIDIDEMPOTENCYKEYEXCEPTION", "The idempotency key must be 1 to 255 printable ASCII characters")
        seen = self._seen(caller, method, request.key)
        mark = hashlib.sha256(orjson.dumps(params, option=orjson.OPT_SORT_KEYS)).hexdigest()
        if seen is None:
            body = self._run(caller, method, params)
            self._remember(caller, method, request.key, mark, body)
            return Answer(200, body, {"Idempotency-Key": request.key})
        if seen["MARK"] != mark:
            raise V3Error(422, "IDEMPOTENCYKEYREUSEDEXCEPTION", "The idempotency key was used with another request body")
        return Answer(200, seen["BODY"], {"Idempotency-Key": request.key, "Idempotent-Replayed": "true"})

    def _run(self, caller: Caller, method: str, params: Row) -> Row:
        handler = METHODS.get(method)
        if handler is None:
            raise V3Error(404, "METHODNOTFOUNDEXCEPTION", f"Method `{method}` not found")
        return self._portal.perform(caller, method, handler, params)

    def _seen(self, caller: Caller, method: str, key: str) -> Row | None:
        """Return the stored answer to an earlier write with this idempotency key, or None. Answers older than a day are deleted first."""
        store, now = self._portal.store, self._portal.now
        store.remove_where(_REMEMBERED, lambda row: parse_moment(row["AT"]) + _KEPT <= now)
        owner = list(caller.owner(method))
        mine = (row for row in store.walk(_REMEMBERED) if row["OWNER"] == owner and row["USER"] == caller.user and row["KEY"] == key)
        return next(mine, None)

    def _remember(self, caller: Caller, method: str, key: str, mark: str, body: Row) -> None:
        owner, at = list(caller.owner(method)), store_moment(self._portal.now)
        self._portal.store.add(_REMEMBERED, {"OWNER": owner, "USER": caller.user, "KEY": key, "MARK": mark, "BODY": body, "AT": at})

    def _batch(self, caller: Caller, body: Any) -> Answer:
        """Run all commands of a batch in order and return their results as a list.

        If a command fails, its error is the answer to the whole batch, and the writes of all commands are undone.
        """
        if not isinstance(body, list):
            raise V3Error(400, "INVALIDSELECTEXCEPTION", "Unable to recognize the select parameter")
        if len(body) > _BATCH_LIMIT:
            raise PortalError(400, "ERROR_BATCH_LENGTH_EXCEEDED", "Max batch length exceeded")
        portal, started, events = self._portal, self._portal.now, len(self._portal.raised)
        done: list[tuple[Row, bool]] = []
        results = []
        try:
            with portal.store.atomic():
                for place, command in enumerate(body):
                    results.append(self._command(caller, command, place, done))
        except BaseException:
            del portal.raised[events:]
            for line, _ in done:
                portal.close_line(line, 200, "rolled_back")
            raise
        for line, applied in done:
            portal.close_line(line, 200, "ok", applied=applied)
        return Answer(200, portal.envelope(results, caller.owner("batch"), started))

    def _command(self, caller: Caller, command: Any, place: int, done: list[tuple[Row, bool]]) -> Any:
        known = isinstance(command, dict) and isinstance(command.get("method"), str) and isinstance(command.get("query", {}), dict)
        if not known:
            raise V3Error(400, "INVALIDSELECTEXCEPTION", f"Unable to recognize the command {place} of the batch")
        method, query = command["method"].strip().lower(), command.get("query", {})
        line = self._portal.open_command(caller, method, query, str(place))
        before = self._portal.store.writes
        try:
            result = self._run(caller, method, query)["result"]
        except PortalError as error:
            self._portal.close_line(line, error.status, error.code, error_description=error.text)
            raise
        done.append((line, self._portal.store.writes > before))
        return result
