"""The portal of the lab: that of the spine's kit, which also finds people by their phone and may say no for a while."""

from typing import Any

from tests.unit.spine_portal import Portal, PortalError


class LabPortal(Portal):
    """See the module docstring."""

    def __init__(self) -> None:
        """It refuses nothing yet."""
        super().__init__()
        self.refuses = ""
        """The method that it refuses."""

    def perform(self, method: str, params: dict[str, Any]) -> Any:
        """Carry a call out, or refuse it."""
        if method == self.refuses:
            raise PortalError("ACCESS_DENIED", "Access denied")
        if method == "crm.duplicate.findbycomm":
            return {"CONTACT": [43]}
        return super().perform(method, params)
