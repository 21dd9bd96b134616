"""The English sentences about mistakes in flows, by code; the Fluent files have the same for people."""

from typing import Final

from orchestrator.engines.shared.parameters import SENTENCES as PARAMETER_SENTENCES

SENTENCES: Final[dict[str, str]] = {
    **PARAMETER_SENTENCES,
    "finding-flow-step-unknown": 'there is no step "{name}"',
    "finding-flow-sync-only": "syncOnly is always true: steps of flows do not stream",
    "finding-flow-field-excluded": 'the field "{name}" is not part of flows: maxAttempts says how often a step is tried',
    "finding-flow-success-open": "complete is false and no next step is named: it is not known what follows",
    "finding-flow-next-unused": "complete is true, so the next step never follows",
    "finding-flow-loop-endless": "the steps {names} repeat without end: none of them ends the flow",
    "finding-flow-only-fails": "no way leads to an end at which the flow is complete: it can only fail",
    "finding-flow-step-unreachable": "nothing leads to this step",
    "finding-flow-payload-missing": "a write of mode STATIC without payload writes nothing",
    "finding-flow-payload-unused": "the payload has no effect: the mode AGENT_OUTPUT writes the agent's answer",
    "finding-flow-number-usual": '"{name}" below 1 counts as {usual}',
    "finding-flow-reference-unknown": '"{name}" names no step of this flow',
    "finding-flow-reference-form": '"{name}" is no path: one looks like {example}',
    "finding-flow-title-missing": "the flow has no title: people will see its name instead",
}
