"""Findings at the innermost node that holds their place."""

from collections.abc import Iterator, Mapping, Sequence

from bot.console.definitions.form.fields import Field, Group, Node
from orchestrator.domain.finding import Finding, Path, parse_path


def assign_findings(form: Group, findings: Sequence[Finding]) -> dict[Path, list[Finding]]:
    """() has those that belong to no node."""
    known = {one.path for one in _walk(form)}
    assigned: dict[Path, list[Finding]] = {}
    for finding in findings:
        path = _read_path(finding)
        while path and path not in known:
            path = path[:-1]
        assigned.setdefault(path, []).append(finding)
    return assigned


def list_within(path: Path, assigned: Mapping[Path, Sequence[Finding]]) -> list[Finding]:
    return [finding for at, findings in assigned.items() if at[: len(path)] == path for finding in findings]


def _walk(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case Group():
            for child in node.nodes:
                yield from _walk(child)
        case Field():
            return
        case _:
            for item in node.items:
                yield from _walk(item)


def _read_path(finding: Finding) -> Path:
    """() for a path that was cut."""
    try:
        return parse_path(finding.path)
    except ValueError:
        return ()
