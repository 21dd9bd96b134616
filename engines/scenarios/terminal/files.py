"""Files of scenarios: reading one with those beside it, and their checks, which are those of `sdelka definitions check`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.cli.definition_files import get_key, list_files, read_file
from engines.scenarios.core.authoring.references import find_unknown_uses
from engines.scenarios.core.kind import KIND
from engines.scenarios.core.plan import StepTypes
from engines.scenarios.core.registry import build_step_types, load_plugins
from orchestrator.domain.finding import DefinitionRefused, has_errors, sort_findings

if TYPE_CHECKING:
    from orchestrator.definitions.checking import Checked
    from orchestrator.runs.registry import Engines


@dataclass
class Folder:
    """The scenarios that are in one folder, by key; each is read when it is asked for."""

    path: Path
    _read: dict[str, Any] = field(default_factory=dict)

    @property
    def keys(self) -> dict[str, Path]:
        """The files by key."""
        return {get_key(one): one for one in list_files(self.path)}

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
    from orchestrator.definitions.checking import Checked, Submission  # noqa: PLC0415 - see above

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


def load_types() -> StepTypes:
    """Return the types of steps, with those of installed plugins."""
    return build_step_types(load_plugins())
