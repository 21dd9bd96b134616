from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, TypeVar

import yaml
from pydantic import Field

from orchestrator.domain.errors import ModelClientError, SettingsError
from orchestrator.domain.frozen import Frozen
from orchestrator.domain.own_reads import HelpTexts
from orchestrator.engines.crm_agent.blocks import Blocks, parse
from orchestrator.language.calendar_units import fill_date_forms
from state.stored import JsonObject

_T = TypeVar("_T", bound=Frozen)
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
FOLDER: Final = Path(__file__).resolve().parents[3] / "data" / "agent"
PROTOCOL: Final = ("protocol.md", "numbers.md", "many.md")
"""How the model writes its steps, one after another."""
_EXAMPLES_HEAD: Final = (
    "# Examples\n"
    "What a person writes, and your whole answer. "
    "Names, numbers and ids in them are made up: take yours from the person and from what was read."
)


class Example(Frozen):
    """A worked example; `given` is what the model has been told."""

    person: str
    given: str = ""
    answer: str

    @cached_property
    def blocks(self) -> Blocks:
        return parse(self.answer)

    def parse_answer(self) -> "Example":
        """Return the example. Raises ModelClientError if its answer cannot be read."""
        parse(self.answer)
        return self

    def to_text(self) -> str:
        context = f"\n({self.given})" if self.given else ""
        return f"PERSON: {self.person}{context}\n{self.answer.strip()}"


class MethodTexts(Frozen):
    """methods.yaml: samples are by kind of field and by parameter, steps are those of code."""

    front: dict[str, str]
    unnamed: tuple[str, ...] = ()
    samples: dict[str, object]
    steps: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class AgentTexts:
    constitution: str
    protocol: str
    methods: MethodTexts
    examples: Sequence[Example]

    @property
    def examples_text(self) -> str:
        return "\n\n".join([_EXAMPLES_HEAD, *(example.to_text() for example in self.examples)])

    @property
    def help(self) -> HelpTexts:
        steps = [step for example in self.examples for step in example.blocks.steps]
        worked: Mapping[str, JsonObject] = {step.method: step.params for step in reversed(steps)}
        return HelpTexts(examples=worked, samples=self.methods.samples, steps=self.methods.steps)


def load_agent_texts(folder: Path = FOLDER) -> AgentTexts:
    """Raises SettingsError that names a missing or wrong file."""
    return AgentTexts(
        constitution=_read_text(folder / "constitution.md"),
        protocol=fill_date_forms("\n\n".join(_read_text(folder / name) for name in PROTOCOL)),
        methods=_read(MethodTexts, folder / "methods.yaml"),
        examples=[_read_example(path) for path in sorted((folder / "examples").glob("*.yaml"))],
    )


def _read_example(path: Path) -> Example:
    try:
        return _read(Example, path).parse_answer()
    except ModelClientError as error:
        raise SettingsError(f"{path}: the answer cannot be read: {error.reason}") from error


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from error


def _read(kind: type[_T], path: Path) -> _T:
    try:
        return kind.model_validate(yaml.load(_read_text(path), Loader=_LOADER))  # noqa: S506 - one of the two safe loaders
    except (ValueError, yaml.YAMLError) as error:
        raise SettingsError(f"{path}: {error}") from error
