"""Every error is `{"error": {"code", "message"}}`, without internals and secrets."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

MEANINGS: Final[Mapping[int, str]] = {
    400: "The request cannot be read, or a field is missing or wrong.",
    401: "The header X-API-Key is missing or its token is not known.",
    403: "The token may not do this.",
    404: "There is nothing under this address, or nothing that this token may see.",
    405: "This address does not know the method.",
    408: "The request came too slowly.",
    409: "It has been decided already, or it is not what the caller saw.",
    413: "The request is too large.",
    415: "The body is no JSON.",
    422: "The Idempotency-Key was used before with another request.",
    428: "The header If-Match is missing: it names the revision that the caller saw.",
    429: "Too many requests, or too many wrong tokens; Retry-After says when to come again.",
    500: "Something went wrong inside; it is logged under the trace id.",
    503: "The service cannot take requests at the moment; try again later.",
}


class Trouble(BaseModel):
    """The description of an error: a code for programs, and a sentence for people."""

    model_config = ConfigDict(frozen=True)
    code: str = Field(description="A word for programs.", examples=["unauthorized"])
    message: str = Field(description="A sentence for people.")


class ErrorBody(BaseModel):
    """The body of every error answer."""

    model_config = ConfigDict(frozen=True)
    error: Trouble


class ApiError(HTTPException):
    """Must be an HTTPException: FastAPI replaces any other that is raised while a body is read."""

    def __init__(
        self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None, more: Mapping[str, object] | None = None
    ) -> None:
        """`more` are further fields of the body's `error`."""
        super().__init__(status, code, dict(headers or {}))
        self.status, self.code, self.message, self.more = status, code, message, more or {}

    def to_response(self) -> JSONResponse:
        return JSONResponse({"error": {"code": self.code, "message": self.message, **self.more}}, self.status, self.headers)


def describe_errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For `responses` of a route, which OpenAPI shows."""
    return {status: {"model": ErrorBody, "description": MEANINGS[status]} for status in statuses}
