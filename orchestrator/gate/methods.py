"""The methods of a mode as the model is told of them (S004-3): names, classes and what each needs. Pure; never an address (S004-42)."""

from collections.abc import Iterator

from bitrix.catalogue import Catalogue, Method
from orchestrator.gate.policy import Policy
from orchestrator.messages import Mode

_WORDS = {"R": "reads", "W": "changes", "D": "deletes", "C": "configures the portal", "M": "money", "N": "sends outward"}


def format_methods(catalogue: Catalogue, policy: Policy, mode: Mode) -> str:
    """One line a method, reads first."""
    listed = [method for method in catalogue if is_offered(method, policy, mode)]
    return "\n".join(_format_lines(sorted(listed, key=lambda method: (not method.reads_only, method.name))))


def is_offered(method: Method, policy: Policy, mode: Mode) -> bool:
    """Whether the model is told of a method at all; what it is not told of is refused by the gate all the same."""
    if policy.is_listed(policy.refuse_methods, method.name):
        return False
    seldom = "D" in method.classes or method.closed or method.rare
    if seldom and not policy.is_listed(policy.open_methods, method.name):
        return False
    return mode != "canary" or method.reads_only or method.safe_create or method.name == "batch"


def _format_lines(methods: list[Method]) -> Iterator[str]:
    for method in methods:
        what = ", ".join(_WORDS[name] for name in method.classes)
        needs = f"; needs {', '.join(method.required)}" if method.required else ""
        yield f"- {method.name}: {what}{needs}"
