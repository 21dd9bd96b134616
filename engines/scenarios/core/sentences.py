"""The English sentences about mistakes in scenarios, by code; the Fluent files have the same for people."""

from typing import Final

SENTENCES: Final[dict[str, str]] = {
    "finding-step-id-twice": 'there is a step "{name}" already',
    "finding-step-type-unknown": 'there is no type of steps "{name}"',
    "finding-action-type-unknown": 'there is no action "{name}"',
    "finding-step-target-unknown": 'there is no step "{name}"',
    "finding-step-target-variable": 'a run goes to a step that its author names, not to one that a variable does: "{name}"',
    "finding-branch-condition-missing": "the branch has no condition",
    "finding-branch-ways-missing": "the branch leads nowhere: it needs branches with if and else",
    "finding-field-elsewhere": 'the field "{name}" has an effect only in a step of type branch',
    "finding-loop-endless": "the steps {names} repeat without end: there is no question, wait or condition between them",
    "finding-step-unreachable": "nothing leads to this step",
    "finding-variable-unset": 'nothing sets the variable "{name}": whoever starts the scenario has to give it',
    "finding-variable-reserved": 'the name "{name}" is taken: only the program sets names with "__"',
    "finding-variable-program": 'the value of "{name}" has no effect: the program itself says for whom, where and when a scenario runs',
    "finding-mapping-missing": "without output_mapping the sub-scenario overwrites all variables of the same names",
    "finding-step-internal": "{name} answers from all that the company knows, so it is not for a scenario for customers",
    "finding-address-host-open": "the host of the address is a fixed text: placeholders may stand behind it only",
    "finding-address-odd": "the address cannot be used: {problem}",
    "finding-pattern-wrong": "the expression regex cannot be read: {problem}",
    "finding-scenario-elsewhere": 'no file beside this one is called "{name}": a scenario of this key has to be published',
    "finding-scenario-name-missing": "the scenario has no name: people will see its key instead",
}
