"""`python -m tests.api_description`: writes what the API says of its nouns to the file from which the command line makes its commands."""

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import orjson

from bot.http_api.approvals.confirmations import build_confirmations_router
from bot.http_api.approvals.freeze import build_freeze_router
from bot.http_api.audit.audit_trail import build_audit_router
from bot.http_api.audit.session_events import build_session_events_router
from bot.http_api.definitions.router import build_definitions_router
from bot.http_api.runs.router import build_runs_router
from bot.http_api.schedules.router import build_schedules_router
from bot.http_api.server.app import build_app

FILE = Path(__file__).resolve().parents[1] / "bot" / "cli" / "nouns" / "openapi.json"


def describe() -> dict[str, Any]:
    """The description of the endpoints of nouns, without the answers that are errors."""
    given: Any = MagicMock()
    app = build_app(
        build_runs_router(given, given, given),
        build_schedules_router(given, given),
        build_definitions_router(given),
        build_confirmations_router(given),
        build_audit_router(given),
        build_session_events_router(given, given),
        build_freeze_router(given, given),
    )
    app.openapi_url = "/openapi.json"
    description = app.openapi()
    operations = [operation for path in description["paths"].values() for operation in path.values()]
    for operation in operations:
        operation["responses"] = {status: answer for status, answer in operation["responses"].items() if status < "300"}
    schemas = description["components"]["schemas"]
    used = _list_references(description["paths"])
    while more := {name for reference in used for name in _list_references(schemas[reference])} - used:
        used |= more
    return {"paths": description["paths"], "components": {"schemas": {name: schemas[name] for name in sorted(used)}}}


def _list_references(part: Any) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"].rpartition("/")[2]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*map(_list_references, part.values()))
    return set().union(*map(_list_references, part)) if isinstance(part, list) else set()


def encode(description: dict[str, Any]) -> bytes:
    """The text of the file."""
    return orjson.dumps(description, option=orjson.OPT_INDENT_2) + b"\n"


if __name__ == "__main__":
    FILE.write_bytes(encode(describe()))
