from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Final

from bot.cli.ask_face import ASK_FACE
from bot.cli.author.faces import FAMILY, LIVE_FACE
from bot.cli.doctor.findings import Area, Finding
from bot.composition.features import drop_taken_commands
from bot.console.definitions.form.form_face import FORM_FACE
from bot.console.runs.run_face import RUN_FACE
from bot.http_api.engine_face import HTTP_FACE
from bot.i18n.translate import Translator
from bot.plugins.building import build_engines, leave_out
from bot.plugins.kind_face import KIND_FACE
from bot.plugins.loading import find_part, find_part_of_kind, list_faults, list_offering, load_plugins
from bot.plugins.plugin import EnginePlugin, Slot
from bot.plugins.turn_face import TURN_FACE
from bot.plugins.wiring import LIFETIME, WIRING
from bot.rehearsing.case_face import CASE_FACE
from bot.rehearsing.trial_face import TRIAL_FACE
from state.events.base import DEFAULT_ENGINE

AREA: Final = Area("engines")
SLOTS: Final[tuple[Slot[Any], ...]] = (WIRING, TURN_FACE, LIFETIME, RUN_FACE, ASK_FACE, HTTP_FACE)
SLOTS_OF_KINDS: Final[tuple[Slot[Any], ...]] = (KIND_FACE, FORM_FACE, TRIAL_FACE, CASE_FACE, FAMILY, LIVE_FACE)
_MENDING: Final = "Install the version of it that fits this program, or remove it; everything else works."


def check_engines() -> Iterator[Finding]:
    for plugin in load_plugins():
        yield from _check_slots(plugin)
    yield from _check_answering()
    engines = build_engines()
    drop_taken_commands(engines)
    Translator("ru"), Translator("en")
    for fault in list_faults():
        yield AREA.report_warning(fault.engine, fault.describe(), _MENDING)
    yield AREA.report_ok("engines", f"These can be used: {', '.join(engines) or 'none'}.")


def _check_answering() -> Iterator[Finding]:
    if find_part(TURN_FACE, DEFAULT_ENGINE) is None:
        says = f"The engine {DEFAULT_ENGINE}, which answers messages, cannot be used: the bot does not start."
        yield AREA.report_wrong(DEFAULT_ENGINE, says, "Install the program anew: this engine is a part of it.")
    if all(find_part(TURN_FACE, name) is None for name in list_offering(ASK_FACE)):
        says = "No engine that answers /ask can be used: there is no /ask, and `sdelka ask` says so."
        yield AREA.report_warning("ask", says, "Put the folder of one back if people are to ask it; everything else works.")


def _check_slots(plugin: EnginePlugin) -> Iterator[Finding]:
    for slot in SLOTS:
        find_part(slot, plugin.name)
    for slot in SLOTS_OF_KINDS:
        for kind in plugin.kinds:
            find_part_of_kind(slot, kind)
    for group in plugin.terminal:
        with leave_out(plugin.name, "terminal", f"sdelka {group.name} cannot be used"):
            if find_spec(group.module) is None:
                raise ModuleNotFoundError(f"No module named {group.module!r}")
    known = {slot.name for slot in SLOTS} | {f"{slot.name}/{kind}" for slot in SLOTS_OF_KINDS for kind in plugin.kinds}
    for name in sorted(plugin.parts.keys() - known):
        yield AREA.report_warning(plugin.name, f"No door has a slot {name}, for which the engine {plugin.name} offers something.", _MENDING)
