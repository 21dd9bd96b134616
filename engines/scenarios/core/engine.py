"""Plays scenarios: one step after another (S000)."""

import time
from collections import Counter
from dataclasses import KW_ONLY, dataclass, replace
from datetime import date
from typing import Final, Literal

from pydantic import ValidationError

from engines.scenarios.core.definition import ABOUT_PERSON, AGENT, GIVEN_WINS, RESERVED
from engines.scenarios.core.executor_log import ExecutorLog, LoggedContext
from engines.scenarios.core.plan import Plan, PlannedStep, Plans, StepTypes
from engines.scenarios.core.spoken import Speaking
from engines.scenarios.core.steering import CANCELLED, Point, Steering
from engines.scenarios.core.step_types import AnyStepCall, StepCall, StepResult, Surroundings
from engines.scenarios.core.variables import DECIDED_BY, ReservedName, Variables, VariablesRefused, find_reserved
from orchestrator.domain.own_reads import FindDocuments
from orchestrator.domain.taint import Value
from orchestrator.domain.value_faults import describe_fault
from orchestrator.engines.runs import RunContext, RunFailed, RunInfo, RunResult, RunSuspended
from orchestrator.engines.shared.file_access import Download, ReadFile
from orchestrator.expressions.placeholders import TemplateRefused

MOST_STEPS: Final = 1000
MOST_DEPTH: Final = 10
MOST_SECONDS: Final = 1800.0


@dataclass(eq=False)
class ScenarioEngine:
    """A restart goes on where the run was: what was played stands in its stream."""

    replay = 1
    replays = frozenset({1})

    types: StepTypes
    _: KW_ONLY
    find_documents: FindDocuments | None = None
    read_file: ReadFile | None = None
    download: Download | None = None
    most_steps: int = MOST_STEPS
    most_depth: int = MOST_DEPTH
    most_seconds: float = MOST_SECONDS
    """Of the work between two waits (S000-A11)."""
    agent: str = "sdelka"

    def __post_init__(self) -> None:
        self._plans = Plans(self.types)

    async def run(self, ctx: RunContext) -> RunResult:
        """Return the final variables. Raises RunFailed and RunSuspended."""
        if ctx.run.depth > self.most_depth:
            raise RunFailed("scenario-too-deep", f"more than {self.most_depth} scenarios inside of each other", most=self.most_depth)
        plan = self._plans.find(ctx.run.definition.document)
        playing = _Playing(ctx, plan, self._build_variables(ctx, plan), self.most_steps, self.most_seconds)
        playing.connect(self.find_documents, self.read_file, self.download)
        return await playing.play()

    def _build_variables(self, ctx: RunContext, plan: Plan) -> Variables:
        """Later ones win: the person's, the author's, the caller's, the system's (S000-X5). Raises RunFailed for a reserved name."""
        run, about = ctx.run, _describe_person(ctx.run)
        names = {"__current_scenario_id__": run.definition.key, "__scenario_instance_id__": run.run_id, AGENT: self.agent}
        system = {name: Value(one) for name, one in names.items()} | {RESERVED + name: one for name, one in about.items()}
        caller = dict(run.args)
        if run.definition.edition < GIVEN_WINS:
            caller |= about
        own = {DECIDED_BY} if run.parent else frozenset()
        if reserved := find_reserved(run.definition, caller.keys() - own):
            raise RunFailed("scenario-given-reserved", f"the start gives {reserved}", name=reserved)
        try:
            return Variables(about, plan.initial, caller, system)
        except VariablesRefused as error:
            raise RunFailed("scenario-values-large", f"at the beginning: {error}", step="1") from None


def _describe_person(run: RunInfo) -> dict[str, Value]:
    return {
        "user_id": Value(run.owner),
        "user_name": Value(run.owner_name, frozenset({"person"})),
        "employee_id": Value(run.employee),
        "chat_id": Value(run.home),
        "today": Value(run.today),
        "time_zone": Value(run.time_zone),
    }


class _Playing:
    def __init__(self, ctx: RunContext, plan: Plan, variables: Variables, most_steps: int, most_seconds: float) -> None:
        self._log = ExecutorLog(ctx.run.run_id)
        self._ctx = LoggedContext(ctx, self._log)
        self._plan, self._variables, self._most_steps = plan, variables, most_steps
        self._steering = Steering(ctx.run.definition.document, [step.index for step in plan.steps if step.type.asks])
        self._surroundings = Surroundings(note=self._log.add_note, steering=self._steering)
        self._speaking = Speaking(
            today=date.fromisoformat(ctx.run.today) if ctx.run.today else ctx.now.date(), locale=ctx.actor.locale, types=plan.spoken
        )
        self._visits: Counter[str] = Counter()
        self._count = 0
        self._most_seconds, self._until = most_seconds, time.monotonic() + most_seconds

    def connect(self, find_documents: FindDocuments | None, read_file: ReadFile | None, download: Download | None) -> None:
        self._surroundings = replace(self._surroundings, find_documents=find_documents, read_file=read_file, download=download)

    async def play(self) -> RunResult:
        place: int | None = 0
        self._log.add_start(self._plan.name, self._ctx.run.definition.key, self._list_left_out())
        while place is not None and place < len(self._plan.steps):
            self._check_limit(self._plan.steps[place])
            if time.monotonic() > self._until:
                raise RunFailed("scenario-too-slow", f"at work for {self._most_seconds:g} s", most=round(self._most_seconds / 60))
            planned = self._plan.steps[place]
            point = self._build_point(planned) if planned.type.asks else None
            self._steering.begin_step(place)
            result = await self._play_step(planned)
            if result.cancels:
                return self._end("cancelled", CANCELLED)
            if result.goes_back:
                place = self._go_back()
                continue
            if self._ctx.has_acted:
                self._steering.drop_points()
            elif point is not None:
                self._steering.keep_point(point)
            place = self._find_next(planned, result)
        return self._end("done")

    def _check_limit(self, planned: PlannedStep) -> None:
        """Raises RunFailed, which keeps the variables, before a step too many."""
        if self._count >= self._most_steps:
            self._log.add_end(self._count, "failed")
            self._log.flush()
            often = max(self._visits.values(), default=0)
            step = planned.step.id or str(planned.index + 1)
            detail = f"more than {self._most_steps} steps: it stands before {step}, and made the most frequent one {often} times"
            error = RunFailed("scenario-too-long", detail, most=self._most_steps, step=step, often=often)
            error.value = self._variables.to_value().map(lambda data: {**data, "success": False})
            raise error
        self._count += 1

    def _list_left_out(self) -> list[str]:
        run = self._ctx.run
        return sorted(ABOUT_PERSON & {*run.args, *self._plan.initial}) if run.definition.edition < GIVEN_WINS else []

    def _end(self, status: Literal["done", "cancelled"], code: str = "") -> RunResult:
        self._log.add_end(self._count, status)
        self._log.flush()
        final = self._variables.to_value().map(lambda data: {**data, "success": status == "done"})
        return RunResult(value=final, status=status, code=code, changes=self._ctx.changes)

    def _build_point(self, planned: PlannedStep) -> Point:
        return Point(place=planned.index, variables=self._variables.copy(), options=self._surroundings.keyboard.options)

    def _go_back(self) -> int:
        point = self._steering.take_point()
        self._variables = point.variables
        self._surroundings.keyboard.options = point.options
        return point.place

    async def _play_step(self, planned: PlannedStep) -> StepResult:
        self._visits[planned.label] += 1
        self._ctx.begin_step()
        node = f"{planned.label}/{self._visits[planned.label]}"
        begun = time.monotonic()
        try:
            call = self._build_call(planned, node)
            result = await planned.type.perform(call)
            self._variables.assign(result.changes, has_blocks=planned.type.gives_blocks)
        except RunSuspended:
            if self._ctx.state == "new":
                self._log.add_wait(node, planned.step.type)
                self._log.flush()
            raise
        except RunFailed as error:
            self._log.add_failure(node, error.detail)
            self._log.flush()
            raise
        except ReservedName as error:
            raise RunFailed("scenario-name-reserved", f"step {node} sets {error}", step=planned.step.id or node, name=str(error)) from None
        except (TemplateRefused, VariablesRefused) as error:
            raise RunFailed("scenario-values-large", f"step {node}: {error}", step=planned.step.id or node) from None
        if self._ctx.state != "finished":
            if result.refused:
                self._log.add_refusal(node, planned.step.type, result.refused)
            else:
                self._log.add_step(node, planned.step.type, time.monotonic() - begun, result.changes)
        return result

    def _build_call(self, planned: PlannedStep, node: str) -> AnyStepCall:
        """Raises RunFailed if the filled parameters do not fit."""
        name = planned.step.id or node
        if planned.type.is_internal and self._ctx.actor.for_customers:
            raise RunFailed("run-not-for-customers", f"step {node}: {planned.step.type} is not for customers")
        try:
            spoken = self._speaking.speak(self._variables.values)
            filled = planned.fill(self._variables.values, spoken)
            params = planned.parse(filled.data)
        except TemplateRefused as error:
            raise RunFailed("scenario-values-large", f"step {node}: {error}", step=name) from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise RunFailed("scenario-value-unfit", f"step {node}: {place}: {describe_fault(first)}", step=name, name=place) from None
        return StepCall(
            node=node,
            step=planned.step,
            params=params,
            filled=filled.data,
            empty=frozenset(filled.empty),
            variables=self._variables,
            ctx=self._ctx,
            surroundings=self._surroundings,
            condition=planned.condition,
            spoken=spoken,
        )

    def _find_next(self, planned: PlannedStep, result: StepResult) -> int | None:
        """The step's own target, `next_step`, or the next in the list (A1, A3); None after the last."""
        if result.ends:
            return None
        target = result.next_step or planned.step.next_step
        if not target:
            return planned.index + 1
        place = self._plan.find_place(target)
        if place is None:
            raise RunFailed("scenario-target-unknown", f"there is no step {target}", step=planned.step.id or planned.label, target=target)
        return place
