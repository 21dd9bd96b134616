"""Checks values of launch parameters. Flows and workflows declare theirs in the same way."""

from typing import Final

from orchestrator.documents.findings import Findings
from orchestrator.domain.finding import Path
from orchestrator.engines.shared.declared import LaunchParameter
from orchestrator.engines.shared.parameters import fits_type

SENTENCES: Final[dict[str, str]] = {
    "finding-flow-default-unfit": "the default is no {type}",
    "finding-flow-choice-unfit": "the choice is no {type}",
    "finding-flow-default-no-choice": "the default is none of the choices",
}


def check_launch_parameter(findings: Findings, path: Path, one: LaunchParameter) -> None:
    """Report values of a launch parameter that are not of its type, or not among its choices. Workflows declare theirs in the same way."""
    if one.default is not None and not fits_type(one.default, one.type):
        _add(findings, "finding-flow-default-unfit", (*path, "default"), type=one.type)
    elif one.default is not None and one.choices and one.default not in one.choices:
        _add(findings, "finding-flow-default-no-choice", (*path, "default"))
    for index, choice in enumerate(one.choices):
        if not fits_type(choice, one.type):
            _add(findings, "finding-flow-choice-unfit", (*path, "choices", index), type=one.type)


def _add(findings: Findings, code: str, path: Path, **args: str | int) -> None:
    findings.add(code, SENTENCES[code].format(**args), path, args=dict(args))
