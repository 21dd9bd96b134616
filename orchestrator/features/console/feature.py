"""The command /console, and the inputs that record a login and who saved the policy."""

from functools import partial

from orchestrator.domain.inputs import ConsoleLogin, PolicyFileSaved
from orchestrator.domain.outputs import Notice
from orchestrator.features.console import handlers
from orchestrator.turns.feature import CommandSpec, Feature


def build_feature(sign_link: handlers.SignLink | None) -> Feature:
    """`sign_link` is None without a console."""
    menu = Notice(code="menu-console") if sign_link is not None else None
    return Feature(
        inbox={ConsoleLogin.KIND: handlers.record_login, PolicyFileSaved.KIND: handlers.record_policy},
        commands={"console": partial(handlers.run_command, sign_link=sign_link)},
        command_specs={"console": CommandSpec(menu=menu)},
    )
