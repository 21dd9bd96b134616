"""Files of scenarios: reading one with those beside it, and their checks, which are those of `sdelka definitions check`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from bot.cli.ops import escape_text
from orchestrator.documents.reading import MAX_BYTES, Reading, read_document
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import DefinitionRefused, has_errors, sort_findings
from orchestrator.engines.scenarios.authoring.references import find_unknown_uses
from orchestrator.engines.scenarios.kind import KIND
from orchestrator.engines.scenarios.plan import StepTypes
from orchestrator.engines.scenarios.registry import build_step_types, load_plugins

if TYPE_CHECKING:
    from orchestrator.definitions.rules import FindClasses
    from orchestrator.definitions.service import Checked
    from orchestrator.runs.registry import Engines

SUFFIXES: Final[Mapping[str, Literal["json", "yaml"]]] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}
TEST: Final = ".test"
"""What stands in the name of a file of dialogues before its ending."""


def read_text(path: Path) -> bytes:
    """Return a file, of one that is too large a byte more than may be read. Raises SettingsError."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise SettingsError(escape_text(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})")) from None


def read_file(path: Path) -> Reading:
    """Return what a file holds, with its mistakes. Raises SettingsError."""
    return read_document(read_text(path), SUFFIXES.get(path.suffix.lower(), "auto"))


def get_key(path: Path) -> str:
    """Return the key under which other scenarios of the folder know this one: the name of its file."""
    return path.name.removesuffix(path.suffix)


def list_scenarios(folder: Path) -> list[Path]:
    """Return the files of scenarios in a folder, by name: those with an ending of JSON or YAML that hold no dialogues."""
    try:
        found = sorted(one for one in folder.iterdir() if one.suffix.lower() in SUFFIXES and one.is_file())
    except OSError as error:
        raise SettingsError(escape_text(f"{folder}: cannot be read ({error.strerror})")) from None
    return [one for one in found if not one.stem.endswith(TEST)]


@dataclass
class Folder:
    """The scenarios that are in one folder, by key; each is read when it is asked for."""

    path: Path
    _read: dict[str, Any] = field(default_factory=dict)

    @property
    def keys(self) -> dict[str, Path]:
        """The files by key."""
        return {get_key(one): one for one in list_scenarios(self.path)}

    def get(self, key: str) -> Any:
        """Return the document of a scenario, None if there is none, or none that can be read."""
        if key not in self._read:
            path = self.keys.get(key)
            reading = read_file(path) if path is not None else None
            self._read[key] = reading.document.data if reading is not None and reading.document is not None else None
        return self._read[key]


class Documents(Mapping[str, Any]):
    """The scenarios of a folder by key, of which some were read already."""

    def __init__(self, folder: Folder, known: Mapping[str, Any]) -> None:
        """Take `known` before the files of the folder."""
        self._folder, self._known = folder, known

    def __getitem__(self, key: str) -> Any:
        """Return the document of a scenario. Raises KeyError."""
        found = self._known[key] if key in self._known else self._folder.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[str]:
        """Return the keys."""
        return iter({**self._folder.keys, **self._known})

    def __len__(self) -> int:
        """Return how many there are."""
        return len({**self._folder.keys, **self._known})


def check_scenario_file(engines: "Engines", path: Path) -> "Checked":
    """Return what is wrong with a file. Scenarios that it starts are known if they are files beside it. Raises SettingsError."""
    from bot.cli.definition_desk import check_file  # noqa: PLC0415 - it takes seconds to import, and pictures need none of it
    from orchestrator.definitions.service import Checked, Submission  # noqa: PLC0415 - see above

    reading = read_file(path)
    checked = check_file(engines, KIND, Submission(read=lambda: reading))
    more = find_unknown_uses(reading.draft, Folder(path.parent).keys) if reading.draft is not None else ()
    return Checked(findings=tuple(sort_findings([*checked.findings, *more])), document=checked.document, critical=checked.critical)


def load_scenario(engines: "Engines", path: Path) -> Any:
    """Return the document of a correct scenario; of any other its mistakes are written. Raises DefinitionRefused and SettingsError."""
    from bot.cli.definition_desk import write_findings  # noqa: PLC0415 - see check_scenario_file

    checked = check_scenario_file(engines, path)
    if has_errors(checked.findings):
        write_findings(checked.findings)
        raise DefinitionRefused([one for one in checked.findings if one.severity == "error"])
    return checked.document


def expand_paths(paths: list[Path]) -> Iterator[Path]:
    """Yield the files that are named, and of folders the scenarios in them. Raises SettingsError for a folder without any."""
    for path in paths:
        if path.is_dir():
            found = list_scenarios(path)
            if not found:
                raise SettingsError(escape_text(f"{path} has no scenario: a file such as NAME.yaml is needed"))
            yield from found
        else:
            yield path


def load_engines() -> "Engines":
    """Return the engines of this program."""
    from bot.features import SHIPPED_ENGINES  # noqa: PLC0415 - see check_scenario_file

    return SHIPPED_ENGINES


def load_classes() -> "FindClasses":
    """Return the function that finds the classes of a method as the policy of this installation has them. Raises SettingsError."""
    from bot.cli.definition_desk import build_class_finder  # noqa: PLC0415 - see check_scenario_file
    from bot.settings import load_settings  # noqa: PLC0415 - see check_scenario_file
    from orchestrator.gate.call.policy import load_policy  # noqa: PLC0415 - see check_scenario_file

    return build_class_finder(load_policy(load_settings().policy_file))


def load_types() -> StepTypes:
    """Return the types of steps, with those of installed plugins."""
    return build_step_types(load_plugins())
