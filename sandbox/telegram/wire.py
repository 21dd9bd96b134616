"""The Bot API's envelope and its loosely typed parameters: reads forms, multipart and JSON, decides nothing."""

from dataclasses import dataclass
from typing import Any

import orjson
from starlette.datastructures import UploadFile
from starlette.requests import Request

JsonObject = dict[str, Any]


class ApiError(Exception):
    """An answer with `ok: false`: the code, the sentence of the Bot API, and what to do about it (`parameters`) if it says so."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters

    def envelope(self) -> JsonObject:
        """Return the body that goes over the wire."""
        body: JsonObject = {"ok": False, "error_code": self.code, "description": self.description}
        if self.parameters:
            body["parameters"] = self.parameters
        return body


def bad_request(reason: str) -> ApiError:
    """Build the 400 error that the Bot API writes as `Bad Request: …`."""
    return ApiError(400, f"Bad Request: {reason}")


@dataclass(frozen=True)
class Upload:
    """A file that arrived in a multipart body."""

    name: str
    mime: str
    content: bytes


class Params:
    """The parameters of one call in any encoding; every accessor raises `ApiError` 400 for a wrong type."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def text(self, name: str) -> str:
        """Return a string, empty when it was not sent."""
        value = self._values.get(name)
        if value is None:
            return ""
        if isinstance(value, (dict, list, Upload)):
            raise bad_request(f'parameter "{name}" must be a string')
        return str(value)

    def integer(self, name: str, default: int = 0) -> int:
        """Return a whole number, the default when it was not sent."""
        value = self._values.get(name)
        if value is None or value == "":
            return default
        try:
            return int(value)
        except (TypeError, ValueError):
            raise bad_request(f'parameter "{name}" must be an integer') from None

    def flag(self, name: str) -> bool:
        """Return a truth value; clients write it as true, True or 1."""
        return str(self._values.get(name, "")).lower() in {"true", "1", "yes"}

    def has(self, name: str) -> bool:
        """Return whether the parameter was sent at all."""
        return name in self._values

    def structure(self, name: str) -> Any:
        """Return an object or a list: sent as such in JSON, or as a JSON string in a form."""
        value = self._values.get(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            return value
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            raise bad_request(f"can't parse {name} JSON object") from None

    def file(self, name: str) -> Upload | str:
        """Return an upload, named directly or as `attach://`, or the file_id given instead."""
        value = self._values.get(name)
        if isinstance(value, str) and value.startswith("attach://"):
            value = self._values.get(value.removeprefix("attach://"))
        if isinstance(value, Upload):
            return value
        if not value:
            raise bad_request(f"there is no {name} in the request")
        return str(value)

    def loggable(self) -> JsonObject:
        """Return the parameters as the request log shows them: structures parsed, files by name."""
        return {name: _readable(value) for name, value in self._values.items()}


async def read_params(request: Request) -> Params:
    """Collect query and body. Raises `ApiError` 400 if the body does not match its type."""
    values: dict[str, Any] = dict(request.query_params)
    kind = request.headers.get("content-type", "")
    if "json" in kind:
        values.update(await _json_body(request))
    elif "form" in kind:
        async with request.form() as form:
            for name, value in form.multi_items():
                values[name] = await _upload(value) if isinstance(value, UploadFile) else value
    return Params(values)


async def _json_body(request: Request) -> JsonObject:
    try:
        body = orjson.loads(await request.body() or b"{}")
    except orjson.JSONDecodeError:
        raise bad_request("can't parse request body as JSON") from None
    if not isinstance(body, dict):
        raise bad_request("request body must be a JSON object")
    return body


async def _upload(value: UploadFile) -> Upload:
    return Upload(
        name=value.filename or "file",
        mime=value.content_type or "application/octet-stream",
        content=await value.read(),
    )


def _readable(value: Any) -> Any:
    if isinstance(value, Upload):
        return {"file": value.name, "bytes": len(value.content)}
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value
