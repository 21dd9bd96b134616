"""The definitions of the settings' database, with errors as sentences and exit codes."""

import asyncio
import contextlib
import getpass
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NoReturn, TypeVar

import typer

from bitrix.catalogue.catalogue import Catalogue, load_catalogue
from bot.cli.ops import escape_text, open_database_reader, open_database_writer, write_table
from bot.definition_service import build_class_finder, build_definition_service, build_field_judge, build_host_judge, list_known_kinds
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.definitions.checking import Checked, Submission, check_calls, check_document
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.definitions.reader import KindUnknown, find_kind
from orchestrator.definitions.rules import Editor, FindClasses, NotAllowed
from orchestrator.definitions.service import DefinitionService
from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import DefinitionRefused, Finding
from orchestrator.features.leads.live_policy import FixedPolicy
from orchestrator.gate.call.policy import SHIPPED, Policy, check_policy, load_policy
from orchestrator.rehearsals.call_forms import CallForms
from orchestrator.runs.registry import Engines
from state.clock import SystemClock
from state.journal.async_store import AsyncStore
from state.model.definitions import DefinitionDamaged, DefinitionMissing, NotADraft, StaleRevision

T = TypeVar("T")
_NOT_DONE: Final = 1


@dataclass(frozen=True, kw_only=True)
class DefinitionDesk:
    """For the local user: an administrator, and no employee."""

    service: DefinitionService
    editor: Editor
    runner: asyncio.Runner
    store: AsyncStore

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Refusals end the command."""
        try:
            return self.runner.run(work)
        except (KindUnknown, DefinitionMissing, DefinitionDamaged) as error:
            raise SettingsError(escape_text(str(error))) from None
        except DefinitionRefused as error:
            write_findings(error.findings)
            count = sum(finding.severity == "error" for finding in error.findings)
            _refuse(f"Refused: the definition has {count} mistake{'' if count == 1 else 's'}. Nothing was changed.")
        except NotAllowed as error:
            _refuse(f"Refused: {error.reason}")
        except StaleRevision as error:
            _refuse(f"Refused: somebody else was first. It has revision {error.present.revision} by now: look at it again with `show`.")
        except NotADraft as error:
            _refuse(
                f"Refused: version {error.present.version} is published, so its text stays as it is. Without --version a new one is made."
            )


@contextlib.contextmanager
def open_desk(engines: Engines, *, reads: bool = False) -> Iterator[DefinitionDesk]:
    """Only reads with `reads`. Raises SettingsError."""
    settings = load_settings()
    policy = load_policy(settings.policy_file)
    if not reads and (faults := check_policy(policy, _load_catalogue(policy), kinds=list_known_kinds(settings, engines, policy))):
        raise SettingsError("POLICY_FILE: " + "; ".join(faults))
    user = getpass.getuser()
    editor = Editor(actor=Actor(key=f"cli:{user}", name=user, role="admin", sees="all"), via="cli")
    opened = open_database_reader(settings) if reads else open_database_writer(settings)
    with opened as sql, asyncio.Runner() as runner:
        store, catalogue, portal = AsyncStore(sql), cache(lambda: _load_catalogue(policy)), contextlib.AsyncExitStack()
        forms = runner.run(portal.enter_async_context(_open_call_forms(settings, catalogue)))
        service = build_definition_service(
            store, engines, policies=FixedPolicy(policy), catalogue=catalogue, clock=SystemClock(), find_reference=forms.find_reference
        )
        try:
            yield DefinitionDesk(service=service, editor=editor, runner=runner, store=store)
        finally:
            runner.run(portal.aclose())
            runner.run(store.aclose())


def check_file(engines: Engines, kind: str, submission: Submission) -> Checked:
    """Without a database; a portal is asked if a webhook is set. Raises SettingsError for an unknown kind."""
    settings = load_settings()
    try:
        policy = load_policy(settings.policy_file)
        catalogue = cache(lambda: _load_catalogue(policy))
        policies = FixedPolicy(policy)
        judge, hosts = build_field_judge(catalogue, policies), build_host_judge(policies)
        known_kind = find_kind(engines.kinds, kind)
        checked = check_document(known_kind, submission, build_class_finder(catalogue), judge, hosts)
        return asyncio.run(_check_calls(known_kind, checked, settings, catalogue))
    except KindUnknown as error:
        raise SettingsError(escape_text(error.reason)) from None


async def _check_calls(kind: DefinitionKind, checked: Checked, settings: Settings, catalogue: Callable[[], Catalogue]) -> Checked:
    async with _open_call_forms(settings, catalogue) as forms:
        return await check_calls(kind, checked, forms.check)


def write_findings(findings: Iterable[Finding], describe: Callable[[Finding], str] = lambda finding: finding.message) -> None:
    """Nothing if there are none."""
    rows = [
        (f"{one.line}:{one.column}" if one.line else "—", one.severity, one.path, describe(one), one.suggestion and f"{one.suggestion}?")
        for one in findings
    ]
    if rows:
        write_table(("line", "severity", "where", "what", "meant"), rows)


def _refuse(sentence: str) -> NoReturn:
    typer.echo(escape_text(sentence), err=True)
    raise typer.Exit(_NOT_DONE)


def load_engines() -> Engines:
    from bot.plugins.building import load_installed_engines  # noqa: PLC0415 - it takes seconds to import, and pictures need none of it

    return load_installed_engines()


def load_classes() -> FindClasses:
    """As the policy of this installation has them; the catalogue is loaded when it is needed. Raises SettingsError."""
    policy = load_policy(load_settings().policy_file)
    return build_class_finder(cache(lambda: _load_catalogue(policy)))


def load_call_forms() -> contextlib.AbstractAsyncContextManager[CallForms]:
    """By the policy of this installation, and with its portal if there is one. Raises SettingsError."""
    settings = load_settings()
    policy = load_policy(settings.policy_file)
    return _open_call_forms(settings, cache(lambda: _load_catalogue(policy)))


def _open_call_forms(settings: Settings, catalogue: Callable[[], Catalogue]) -> contextlib.AbstractAsyncContextManager[CallForms]:
    from bot.composition.portal import open_call_forms  # noqa: PLC0415 - who only asks for the commands needs no client of a portal

    return open_call_forms(settings, catalogue)


def _load_catalogue(policy: Policy) -> Catalogue:
    return load_catalogue(SHIPPED.parent / "catalogue", [row.model_dump() for row in policy.catalogue])
