"""What one tuum needs, reads and gives, in the order in which it runs (S003-6, S003-7, S003-33)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from engines.workflows.core.definition import Rune, Script, Tuum
from engines.workflows.core.mistakes import Report
from engines.workflows.core.operations import list_written_kinds
from engines.workflows.core.rune_checks import read_params
from engines.workflows.core.rune_types import PROMPTS, AnyRuneType, RuneParams, RuneTypes
from engines.workflows.core.runes.computing import SetParams
from engines.workflows.core.runes.outside import OperationParams, TerminalParams
from orchestrator.domain.finding import WHOLE, Path

AI_ERROR: Final = "ai_error"
"""Why a model gave no answer; null after one (S003-A7)."""
FINAL_OUTPUT: Final = "ai_final_output"
"""The answer of the tuum's own model; null without one (S003-47, S003-51)."""
ADDED_OUTPUT: Final = "ai_stream_output_added"
TOTAL_OUTPUT: Final = "ai_stream_output_total"
EXECUTION_TIME: Final = "tuum_execution_time"
IN_CALLBACK: Final = frozenset({EXECUTION_TIME, ADDED_OUTPUT, TOTAL_OUTPUT})
AFTER_ANSWER: Final = (FINAL_OUTPUT, AI_ERROR)
"""Set after the answer or its failure, and in a tuum that asks no model (S003-47, S003-51)."""
IN_MAIN_SCRIPT: Final = frozenset({EXECUTION_TIME})
NOTHING: Final[frozenset[str]] = frozenset()
Place = Callable[[Path], Path]


@dataclass(slots=True)
class Variables:
    """By local name, with the place where each is met first."""

    needs: dict[str, Path] = field(default_factory=dict)
    """Comes from outside under the same name, as nothing maps it (S003-A1)."""
    reads: dict[str, Path] = field(default_factory=dict)
    gives: dict[str, Path] = field(default_factory=dict)
    written: dict[str, object] = field(default_factory=dict)
    terminals: list[Path] = field(default_factory=list)
    late: set[str] = field(default_factory=set)
    """Made by the tuum itself, but only behind the place where they are met."""
    is_whole: bool = True
    """False if a rune could not be read: then its variables are not known."""


def list_unproposed(kinds: Iterable[str], may_propose: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return (code, kind) of each kind that the tuum may not propose."""
    return [("finding-tuum-not-proposed", kind) for kind in kinds if may_propose is not None and kind not in may_propose]


def list_unproposed_of(name: str, literal: object, may_propose: Sequence[str] | None) -> list[tuple[str, str]]:
    """`literal` is the variable's value in the document; a list that only a run makes must be empty where nothing may be proposed."""
    if not isinstance(literal, list):
        return [("finding-tuum-proposes-nothing", name)] if may_propose is not None and not may_propose else []
    return list_unproposed(list_written_kinds(literal), may_propose)


def read_variables(tuum: Tuum, types: RuneTypes, report: Report, place: Place) -> Variables:
    """Read the variables and report the tuum's own mistakes (S003-X6)."""
    reader = _Reader(tuum, types, report, place)
    reader.read()
    return reader.found


class _Reader:
    def __init__(self, tuum: Tuum, types: RuneTypes, report: Report, place: Place) -> None:
        self.found = Variables()
        self._tuum, self._types, self._report, self._place = tuum, types, report, place
        self._mapped = tuum.input_mappings
        self._there = set(tuum.input_mappings or ())
        self._folded: set[str] = {name.casefold() for name in self._there}
        self._used: set[str] = set()
        self._used_folded: set[str] = set()
        self._unmapped: list[tuple[str, Path, bool]] = []
        self._has_parts = False

    def read(self) -> None:
        tuum = self._tuum
        self._read_runes("promptRunes", tuum.prompt_runes, prepares=True)
        if tuum.ai_service is not None:
            self._has_parts = True
            self._ask_model(("aiService",))
            if tuum.chunk_callback is not None and tuum.is_streaming:
                self._read_script("chunkCallback", tuum.chunk_callback, IN_CALLBACK)
        self._report_replaced()
        self._add_there(AFTER_ANSWER)
        self._read_runes("runes", tuum.runes, prepares=False)
        if tuum.main_script is not None:
            self._has_parts = True
            self._read_script("mainScript", tuum.main_script, IN_MAIN_SCRIPT)
        self._report_unmapped()
        self._report_idle()
        self._report_outputs()
        if self.found.is_whole:
            self._report_unused()

    def _read_runes(self, name: str, runes: Iterable[Rune], *, prepares: bool) -> None:
        for index, rune in enumerate(runes):
            if rune.enabled:
                self._has_parts = True
                self._read_rune((name, index), rune, prepares=prepares)

    def _read_rune(self, path: Path, rune: Rune, *, prepares: bool) -> None:
        kind = self._types.get(rune.rune_type)
        if kind is not None and prepares and not kind.prepares:
            self._add("finding-rune-not-preparing", (*path, "runeType"), of_value=True, name=kind.name)
        params = read_params(kind, rune.model_extra or {}) if kind is not None else None
        if kind is None or params is None:
            self.found.is_whole = False
            return
        self._note_kind(path, kind)
        self._check_proposal(path, params)
        for variable in kind.list_consumes(params):
            (self._take if not kind.is_terminal else self._look_at)(variable, path)
        for variable in kind.list_reads(params):
            self._look_at(variable, path)
        self._give(kind.list_produces(params), path)
        if isinstance(params, SetParams):
            self.found.written[params.variable] = params.value

    def _note_kind(self, path: Path, kind: AnyRuneType) -> None:
        if kind.is_terminal:
            if self.found.terminals:
                self._add("finding-tuum-terminal-twice", path)
            self.found.terminals.append(path)
        if kind.name == "ai" and self._tuum.ai_service is not None:
            self._add("finding-tuum-ai-twice", path)

    def _check_proposal(self, path: Path, params: RuneParams) -> None:
        match params:
            case OperationParams(operation_type=operation, entity_type=entity):
                mistakes = list_unproposed([f"{operation} {entity}"], self._tuum.may_propose)
            case TerminalParams(operations=str(name)):
                path = (*path, "operations")
                mistakes = list_unproposed_of(name, self.found.written.get(name), self._tuum.may_propose)
            case _:
                return
        for code, name in mistakes:
            self._add(code, path, suggestion=self._report.suggest(name, self._tuum.may_propose or ()), name=name)

    def _read_script(self, name: str, script: Script, provided: frozenset[str]) -> None:
        for index, variable in enumerate(script.consumes):
            self._take(variable, (name, "consumes", index), provided)
        self._give(script.produces, (name,))

    def _ask_model(self, path: Path) -> None:
        self._use(PROMPTS)
        if PROMPTS not in self._there and self.found.is_whole:
            self._add("finding-tuum-prompt-missing", path)

    def _take(self, name: str, path: Path, provided: frozenset[str] = NOTHING) -> None:
        if name == PROMPTS:
            self._ask_model(path)
            return
        self._use(name)
        if name in provided or name in self._there:
            return
        self._miss(name, path, is_needed=True)

    def _look_at(self, name: str, path: Path) -> None:
        self._use(name)
        if name in self._there or name.casefold() in self._folded:
            return
        self._miss(name, path, is_needed=False)

    def _miss(self, name: str, path: Path, *, is_needed: bool) -> None:
        """A rune that cannot be read may have given it, so nothing is said behind one."""
        if not self.found.is_whole:
            return
        if self._mapped is not None:
            self._unmapped.append((name, path, is_needed))
        elif is_needed:
            self.found.needs.setdefault(name, path)
            self.found.reads.pop(name, None)
        elif name not in self.found.needs:
            self.found.reads.setdefault(name, path)

    def _give(self, names: Iterable[str], path: Path) -> None:
        for name in names:
            self.found.gives.setdefault(name, path)
            self.found.written.pop(name, None)
            if name in self.found.needs or name in self.found.reads:
                self.found.late.add(name)
            self._add_there((name,))

    def _add_there(self, names: Iterable[str]) -> None:
        for name in names:
            self._there.add(name)
            self._folded.add(name.casefold())

    def _use(self, name: str) -> None:
        self._used.add(name)
        self._used_folded.add(name.casefold())

    def _report_replaced(self) -> None:
        for name in AFTER_ANSWER:
            if name in (self._mapped or ()):
                self._add("finding-tuum-variable-replaced", ("inputMappings", name), name=name)
            elif name in self.found.gives:
                self._add("finding-tuum-variable-replaced", self.found.gives[name], name=name)

    def _report_unmapped(self) -> None:
        for name, path, is_needed in self._unmapped:
            if is_needed and name in self.found.gives:
                self._add("finding-tuum-variable-late", path, name=name)
            else:
                code = "finding-tuum-variable-unmapped" if is_needed else "finding-workflow-template-empty"
                self._add(code, path, suggestion=self._report.suggest(name, self._there), name=name)

    def _report_idle(self) -> None:
        tuum = self._tuum
        if tuum.is_streaming and tuum.ai_service is None:
            self._add("finding-tuum-streaming-idle", ("isStreaming",))
        if tuum.chunk_callback is not None and (tuum.ai_service is None or not tuum.is_streaming):
            self._add("finding-tuum-callback-idle", ("chunkCallback",))
        if not self._has_parts and not tuum.output_mappings:
            self._add("finding-tuum-empty", WHOLE)

    def _report_outputs(self) -> None:
        there = {*self._there, *self.found.needs, *self.found.reads}
        for name, local in self._tuum.output_mappings.items():
            if local not in there and self.found.is_whole:
                suggestion = self._report.suggest(local, there)
                self._add("finding-tuum-output-missing", ("outputMappings", name), suggestion=suggestion, of_value=True, name=local)

    def _report_unused(self) -> None:
        published = set(self._tuum.output_mappings.values())
        for name, path in self.found.gives.items():
            if name in published or name in self._used or name.casefold() in self._used_folded:
                continue
            if name == PROMPTS:
                self._add("finding-tuum-prompt-unused", path)
            else:
                self._add("finding-tuum-variable-unused", path, name=name)
        for name in self._mapped or ():
            if name not in published and name not in self._used and name.casefold() not in self._used_folded and name != PROMPTS:
                self._add("finding-tuum-input-unused", ("inputMappings", name), name=name)

    def _add(self, code: str, path: Path, *, suggestion: str = "", of_value: bool = False, **args: str) -> None:
        self._report.add(code, self._place(path), suggestion=suggestion, of_value=of_value, **args)
