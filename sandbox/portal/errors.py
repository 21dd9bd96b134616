"""Sandbox portal, errors: the portal's error answers; knows codes and texts, not HTTP servers."""

from __future__ import annotations

from typing import Any

V3 = "BITRIX_REST_V3_EXCEPTION_"


class PortalError(Exception):
    """One error answer: HTTP status, `error` and `error_description`; never carries a secret."""

    def __init__(self, status: int, code: str | int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.code = code
        self.text = text

    def body(self) -> dict[str, Any]:
        """The JSON object of the answer."""
        return {"error": self.code, "error_description": self.text}


class V3Error(PortalError):
    """One error answer of REST v3: the code stands inside `error`, fields that are wrong are named beside it."""

    def __init__(self, status: int, name: str, text: str, validation: dict[str, str] | None = None) -> None:
        super().__init__(status, V3 + name, text)
        self.validation = validation or {}

    def body(self) -> dict[str, Any]:
        """The JSON object of the answer."""
        error: dict[str, Any] = {"code": self.code, "message": self.text}
        if self.validation:
            error["validation"] = [{"message": message, "field": field} for field, message in self.validation.items()]
        return {"error": error}


class ConnectionDroppedError(Exception):
    """A fault asked to cut the connection here: what was committed stays, no answer leaves."""


def classic(text: str) -> PortalError:
    """An old CRM error: HTTP 400 and an empty code."""
    return PortalError(400, "", text)


def invalid_argument(text: str) -> PortalError:
    """A value that the universal methods refuse."""
    return PortalError(400, "INVALID_ARG_VALUE", text)


def missing_parameter(name: str) -> PortalError:
    """A required argument is absent or of the wrong type."""
    return PortalError(400, "100", f"Could not find value for parameter {{{name}}}")


def method_not_found() -> PortalError:
    """The name is not a method of this portal."""
    return PortalError(404, "ERROR_METHOD_NOT_FOUND", "Method not found!")


def wrong_auth_type() -> PortalError:
    """The method wants an application, the call came through a webhook."""
    return PortalError(403, "WRONG_AUTH_TYPE", "Current authorization type is denied for this method")


def invalid_request(validation: dict[str, str]) -> V3Error:
    """REST v3: these fields of the request are wrong."""
    return V3Error(400, "VALIDATION_REQUESTVALIDATIONEXCEPTION", "Error during request object validation", validation)


def access_denied(status: int) -> V3Error:
    """REST v3: who asks is unknown (401), or may not touch the object or it is not there (403)."""
    return V3Error(status, "ACCESSDENIEDEXCEPTION", "Access denied")
