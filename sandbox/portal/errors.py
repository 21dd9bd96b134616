"""Sandbox portal, errors: the error answers of the portal, with their codes and texts."""

from __future__ import annotations

from typing import Any

V3 = "BITRIX_REST_V3_EXCEPTION_"


class PortalError(Exception):
    """An error answer of REST v2: HTTP status, `error` (the code) and `error_description` (the text). It never contains a secret."""

    def __init__(self, status: int, code: str | int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.code = code
        self.text = text

    def body(self) -> dict[str, Any]:
        """Return the JSON object of the error answer."""
        return {"error": self.code, "error_description": self.text}


class V3Error(PortalError):
    """An error answer of REST v3: `error` is an object with code and message, and `validation` in it lists the wrong fields."""

    def __init__(self, status: int, name: str, text: str, validation: dict[str, str] | None = None) -> None:
        super().__init__(status, V3 + name, text)
        self.validation = validation or {}

    def body(self) -> dict[str, Any]:
        """Return the JSON object of the error answer."""
        error: dict[str, Any] = {"code": self.code, "message": self.text}
        if self.validation:
            error["validation"] = [{"message": message, "field": field} for field, message in self.validation.items()]
        return {"error": error}


class ConnectionDroppedError(Exception):
    """Raised when a fault asks to cut the connection: writes that are committed stay, and no answer is sent."""


def classic(text: str) -> PortalError:
    """Build an error of the old CRM methods (`crm.deal.*` and the like): HTTP 400, an empty code, and the given text."""
    return PortalError(400, "", text)


def invalid_argument(text: str) -> PortalError:
    """Build the error of the universal methods (`crm.item.*`) for a value that they refuse."""
    return PortalError(400, "INVALID_ARG_VALUE", text)


def missing_parameter(name: str) -> PortalError:
    """Build the error for a required parameter that is missing or has the wrong type."""
    return PortalError(400, "100", f"Could not find value for parameter {{{name}}}")


def method_not_found() -> PortalError:
    """Build the error for a method name that this portal does not know."""
    return PortalError(404, "ERROR_METHOD_NOT_FOUND", "Method not found!")


def wrong_auth_type() -> PortalError:
    """Build the error for a method that only an application may call, when the call came through a webhook."""
    return PortalError(403, "WRONG_AUTH_TYPE", "Current authorization type is denied for this method")


def invalid_request(validation: dict[str, str]) -> V3Error:
    """Build the REST v3 error for wrong fields; `validation` maps the name of each wrong field to a message."""
    return V3Error(400, "VALIDATION_REQUESTVALIDATIONEXCEPTION", "Error during request object validation", validation)


def access_denied(status: int) -> V3Error:
    """Build the REST v3 error for a denied call.

    Status 401 means that the caller is unknown, 403 that the object does not exist or the caller may not touch it.
    """
    return V3Error(status, "ACCESSDENIEDEXCEPTION", "Access denied")
