from datetime import timedelta
from functools import partial

from orchestrator.domain.run_inputs import (
    RunAnswer,
    RunAskAgain,
    RunChildEnd,
    RunEngineBack,
    RunFile,
    RunForget,
    RunLeave,
    RunMessage,
    RunOrder,
    RunOwnerGone,
    RunPlay,
    RunQuestion,
    RunRestored,
    RunSentItem,
    RunStart,
)
from orchestrator.engines.shared.rendering import OPTION
from orchestrator.runs import doubts, inputs, listening
from orchestrator.runs.absent_engines import EngineReturns, take_engine_back
from orchestrator.runs.commands import build_command_specs, build_commands
from orchestrator.runs.offers import OFFER, take_offer
from orchestrator.runs.questions import BUTTON
from orchestrator.runs.registry import Engines
from orchestrator.runs.reminders import REMIND, remind_person
from orchestrator.runs.result_options import take_option
from orchestrator.runs.retention import KEPT, RunRetention, forget_run
from orchestrator.runs.run_pass import SLEEP, TIMEOUT
from orchestrator.runs.runner import Runner
from orchestrator.runs.sent_items import FileTaker, pass_item
from orchestrator.turns.feature import Feature, Files, PeriodicTask
from state.journal.async_store import AsyncStore


def build_feature(engines: Engines, *, store: AsyncStore | None = None, keep: timedelta = KEPT, files: Files | None = None) -> Feature:
    """With a `store` it also removes runs that ended longer ago than `keep` (zero: never). `files` downloads answers."""
    runner, taker = Runner(engines), FileTaker(files)
    return Feature(
        inbox={
            RunStart.KIND: runner.start,
            RunPlay.KIND: runner.play,
            RunAnswer.KIND: inputs.take_answer,
            RunOrder.KIND: inputs.take_order,
            RunLeave.KIND: inputs.take_leave,
            RunChildEnd.KIND: inputs.take_child_end,
            RunOwnerGone.KIND: inputs.take_owner_gone,
            RunEngineBack.KIND: partial(take_engine_back, engines=engines),
            RunForget.KIND: forget_run,
            RunRestored.KIND: inputs.take_restore,
            RunMessage.KIND: inputs.pass_message,
            RunQuestion.KIND: listening.note_question,
            RunAskAgain.KIND: doubts.ask_again,
            RunSentItem.KIND: pass_item,
            RunFile.KIND: taker.take_file,
        },
        periodic_tasks=_list_tasks(engines, store, keep),
        timers={SLEEP: inputs.take_timer, TIMEOUT: inputs.take_timer, REMIND: remind_person},
        buttons={
            BUTTON: listening.take_click,
            doubts.DOUBT: doubts.take_doubt,
            OFFER: partial(take_offer, engines=engines),
            OPTION: take_option,
        },
        commands=build_commands(engines),
        command_specs=build_command_specs(engines),
        message_takers=(partial(listening.take_message, engines=engines),),
        given_up_inputs={RunStart.KIND: runner.give_up, RunPlay.KIND: runner.give_up, RunFile.KIND: taker.give_up},
    )


def _list_tasks(engines: Engines, store: AsyncStore | None, keep: timedelta) -> tuple[PeriodicTask, ...]:
    if store is None:
        return ()
    return (EngineReturns(engines, store).run, *([RunRetention(store, keep).run] if keep else []))
