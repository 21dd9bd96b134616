"""The refusal of a step whose record the portal did not let us read: our sentence for the person, its words for the journal. Ring 2."""

import re

from bitrix.errors import BitrixError, Refused
from orchestrator.gate.effects import Refuse
from orchestrator.messages import Notice

NO_CODE = "none"
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,60}", re.ASCII)


def unreadable(error: BitrixError) -> Refuse:
    """Nothing is sent when what it is about cannot be looked at; a code of the portal is told, its sentence is not."""
    code = error.code if _CODE.fullmatch(error.code) else f"HTTP {error.status}" if error.status else NO_CODE
    return Refuse(
        reason=Notice(code="portal-unreadable", args={"code": code}),
        detail=f"the record could not be read: {error}",
        foreign_text=bool(error.code) or isinstance(error, Refused),
    )
