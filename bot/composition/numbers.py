"""Builds what answers reports: the mirror of the portal, its worker, and names."""

from bot.composition.installation import Installation
from bot.composition.portal import Portal
from orchestrator.analytics.counting import WorkerCounter
from orchestrator.analytics.definitions import load_definitions
from orchestrator.analytics.service import Analytics
from orchestrator.directory.answers import OutcomeView
from orchestrator.directory.outcome_view import render_outcome
from orchestrator.directory.report_names import ReportNames
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome
from orchestrator.mirror.keeper import MirrorKeeper
from orchestrator.performers.numbers import Numbers
from orchestrator.performers.product_rows import PortalProducts


def build_numbers(installation: Installation, portal: Portal) -> Numbers:
    """Raises SettingsError for faulty files."""
    counter = WorkerCounter()
    keeper = MirrorKeeper(portal.reads.client, installation.settings.state_dir, installation.clock)
    naming = portal.naming  # the function below must not lead to the client that writes

    async def present(*, outcome: Outcome, actor: Actor) -> OutcomeView:
        return await render_outcome(outcome, naming, actor)

    return Numbers(
        keeper,
        Analytics(counter, load_definitions(installation.settings.numbers_file), PortalProducts(portal.reads)),
        ReportNames(naming, portal.reads.reference),
        reads=portal.reads,
        clock=installation.clock,
        present=present,
        close=counter.close,
    )
