"""Counts a rehearsal by person, method and reason, with examples."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from orchestrator.reports.rehearsal.rehearse import RehearsedPlan, RehearsedStep, RehearsedVerdict, find_reason_code, format_reason

EXAMPLES: Final = 3
_VERDICTS: tuple[RehearsedVerdict, ...] = ("allowed", "asked", "refused", "planned", "not begun", "not judged")


@dataclass(kw_only=True)
class ReasonCount:
    """Steps with the verdict `now` for one reason."""

    now: RehearsedVerdict
    reason: str
    text: str
    steps: int = 0
    examples: list[dict[str, str]] = field(default_factory=list)
    """For `journal why CALL`, or without a call for `journal show SESSION`."""


class Summary:
    """Only counts, so memory does not grow with the journal."""

    def __init__(self) -> None:
        self.plans = 0
        self.left_out: Counter[str] = Counter()
        self.steps = 0
        self.now: Counter[str] = Counter()
        self.missing_counts: Counter[str] = Counter()
        self.first = self.last = ""
        self.then: Counter[tuple[str, str]] = Counter()
        self.people: dict[str, Counter[str]] = {}
        self.methods: dict[str, Counter[str]] = {}
        self._reasons: dict[tuple[str, str], ReasonCount] = {}

    def add(self, rehearsed: RehearsedPlan) -> None:
        """With unknown steps it is only counted as left out."""
        plan = rehearsed.plan
        if plan.left_out:
            self.left_out[plan.left_out] += 1
            return
        self.plans += 1
        self.first = min(self.first or plan.at, plan.at)
        self.last = max(self.last, plan.at)
        name = f"{rehearsed.actor.name} ({plan.person})" if rehearsed.actor else plan.person
        for judged in rehearsed.steps:
            self._count(judged, name)
            self._add_reasons(judged, rehearsed)

    def _count(self, judged: RehearsedStep, name: str) -> None:
        self.steps += 1
        self.now[judged.now] += 1
        if judged.missing_facts:
            self.missing_counts[judged.now] += 1
        self.then[judged.step.fate, judged.now] += 1
        self.people.setdefault(name, Counter())[judged.now] += 1
        self.methods.setdefault(judged.step.method, Counter())[judged.now] += 1

    def _add_reasons(self, judged: RehearsedStep, rehearsed: RehearsedPlan) -> None:
        for reason in {find_reason_code(reason): reason for reason in judged.reasons}.values():
            code = find_reason_code(reason)
            entry = self._reasons.setdefault((judged.now, code), ReasonCount(now=judged.now, reason=code, text=format_reason(reason)))
            entry.steps += 1
            if len(entry.examples) < EXAMPLES:
                step, plan = judged.step, rehearsed.plan
                place = {"session": plan.session, "at": plan.at}
                entry.examples.append({"call": step.call, "slot": step.slot, **place, "method": step.method})

    def list_reasons(self) -> list[ReasonCount]:
        """Largest first."""
        return sorted(self._reasons.values(), key=lambda entry: (-entry.steps, entry.reason))

    def as_data(self) -> dict[str, object]:
        """Lists begin with the largest count."""
        return {
            "kind": "summary",
            "plans": self.plans,
            "left_out": {name: self.left_out[name] for name in _LEFT_OUT},
            "steps": self.steps,
            "first": self.first,
            "last": self.last,
            "now": {name: self.now[name] for name in _VERDICTS},
            "not_recorded": dict(sorted(self.missing_counts.items())),
            "then_now": [{"then": then, "now": now, "steps": count} for (then, now), count in sorted(self.then.items())],
            "by_person": _list_counts(self.people, "person"),
            "by_method": _list_counts(self.methods, "method"),
            "by_reason": [asdict(entry) for entry in self.list_reasons()],
        }

    def render_sentences(self, mode: str) -> Iterable[str]:
        """In English, for operators."""
        yield from self._render_counts(mode)
        for name, words in _LEFT_OUT.items():
            if self.left_out[name]:
                is_single = self.left_out[name] == 1
                yield words.format(number=self.left_out[name], plans="plan" if is_single else "plans", are="is" if is_single else "are")

    def _render_counts(self, mode: str) -> Iterable[str]:
        if not self.plans:
            yield "No plan that can be rehearsed was recorded in that time." if self.left_out else "No plan was recorded in that time."
            return
        judged = ", ".join(f"{self.now[name]} {words}" for name, words in _WORDS.items() if self.now[name] or name in _ALWAYS)
        period = f"{format_moment(self.first)} to {format_moment(self.last)}"
        yield f"{period}: {self.plans} plans with {self.steps} steps. In mode {mode}: {judged}."
        if self.missing_counts["asked"]:
            yield f"{self.missing_counts['asked']} steps depend on values that were not recorded: counted as asked."
        if self.missing_counts["allowed"]:
            yield (
                f"{self.missing_counts['allowed']} reads depend on whether the record is the person's, which was not recorded: "
                "counted as run at once; the others would be refused."
            )


_WORDS: Final = {
    "refused": "would have been refused",
    "asked": "asked",
    "allowed": "run at once",
    "planned": "only planned",
    "not begun": "not begun, because the plan stops at the first step that does not run",
    "not judged": "not judged, because the person has no access today",
}
_LEFT_OUT: Final = {
    "erased": "{number} {plans} of erased people {are} left out.",
    "unreadable": "{number} {plans} that cannot be read {are} left out: run `sdelka journal verify`.",
}
_ALWAYS: Final = frozenset({"refused", "asked", "allowed"})


def format_moment(ts: str) -> str:
    """Such as "2026-11-21 12:00:05Z"."""
    return f"{ts[:19].replace('T', ' ')}Z"


def rank_counts(counted: Mapping[str, Counter[str]]) -> list[tuple[str, Counter[str]]]:
    """(name, steps by verdict), largest first."""
    return sorted(counted.items(), key=lambda item: (-item[1].total(), item[0]))


def _list_counts(counted: Mapping[str, Counter[str]], column: str) -> list[dict[str, object]]:
    ranked = rank_counts(counted)
    return [{column: name, "steps": counts.total(), **{now: counts[now] for now in _VERDICTS}} for name, counts in ranked]
