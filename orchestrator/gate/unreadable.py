"""The refusal of a step whose record the portal did not let us read: our sentence for the person, its words for the journal. Ring 2."""

import re

from bitrix.errors import BitrixError, Refused
from orchestrator.gate.effects import Refuse
from orchestrator.messages import Notice

NO_CODE = "none"
PORTAL_FAULT = "away"
"""A fault within the portal: nothing that the person could do but wait."""
_FAULT = 500
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,60}", re.ASCII)


def build_read_refusal(error: BitrixError) -> Refuse:
    """Nothing is sent when what it is about cannot be looked at; a code of the portal is told, its sentence is not."""
    return Refuse(
        reason=Notice(code="portal-unreadable", args={"code": _find_error_code(error)}),
        detail=f"the record could not be read: {error}",
        foreign_text=bool(error.code) or isinstance(error, Refused),
    )


def _find_error_code(error: BitrixError) -> str:
    if error.code == "INTERNAL_SERVER_ERROR" or (error.status or 0) >= _FAULT:
        return PORTAL_FAULT
    return error.code if _CODE.fullmatch(error.code) else f"HTTP {error.status}" if error.status else NO_CODE
