"""Reads the parameters of Bot API calls (forms, multipart and JSON), and defines the Bot API's error answers."""

from dataclasses import dataclass
from typing import Any

import orjson
from starlette.datastructures import UploadFile
from starlette.requests import Request

JsonObject = dict[str, Any]


class ApiError(Exception):
    """An error answer of the Bot API: error code, description, and optional `parameters` such as `retry_after`."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters

    def envelope(self) -> JsonObject:
        """Return the error as the JSON body of an answer, with `ok: false`."""
        body: JsonObject = {"ok": False, "error_code": self.code, "description": self.description}
        if self.parameters:
            body["parameters"] = self.parameters
        return body


def bad_request(reason: str) -> ApiError:
    """Return the error 400 with the description "Bad Request: <reason>"."""
    return ApiError(400, f"Bad Request: {reason}")


@dataclass(frozen=True)
class Upload:
    """A file that was uploaded in a multipart body."""

    name: str
    mime: str
    content: bytes


class Params:
    """The parameters of one Bot API call, in whatever encoding they came. Methods raise `ApiError` 400 for a value of a wrong type."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def text(self, name: str) -> str:
        """Return a parameter as a string, "" if it was not sent."""
        value = self._values.get(name)
        if value is None:
            return ""
        if isinstance(value, (dict, list, Upload)):
            raise bad_request(f'parameter "{name}" must be a string')
        return str(value)

    def integer(self, name: str, default: int = 0) -> int:
        """Return a parameter as an integer, or the default if it was not sent."""
        value = self._values.get(name)
        if value is None or value == "":
            return default
        try:
            return int(value)
        except (TypeError, ValueError):
            raise bad_request(f'parameter "{name}" must be an integer') from None

    def flag(self, name: str) -> bool:
        """Return a parameter as a bool, False if it was not sent. "true", "True", "1" and "yes" mean True."""
        return str(self._values.get(name, "")).lower() in {"true", "1", "yes"}

    def has(self, name: str) -> bool:
        """Return whether the parameter was sent at all."""
        return name in self._values

    def structure(self, name: str) -> Any:
        """Return a parameter that is an object or a list, None if it was not sent. In a form its value is a string with JSON."""
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
        """Return a parameter that is a file: the upload (also if named as `attach://<name>`), or the file_id of a stored file."""
        return self.resolve_file(self._values.get(name), name)

    def resolve_file(self, value: Any, name: str) -> Upload | str:
        """Return the file that a value names which is no parameter of its own: the `media` of an InputMedia object, called `name`."""
        if isinstance(value, str) and value.startswith("attach://"):
            value = self._values.get(value.removeprefix("attach://"))
        if isinstance(value, Upload):
            return value
        if not value:
            raise bad_request(f"there is no {name} in the request")
        return str(value)

    def loggable(self) -> JsonObject:
        """Return the parameters as the log of requests shows them: JSON strings as objects, files as their names and sizes."""
        return {name: _readable(value) for name, value in self._values.items()}


async def read_params(request: Request) -> Params:
    """Return the parameters from the query and the body of a request. Raises `ApiError` 400 for a malformed body."""
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
