from typing import Final

from bot.console.definitions.form.form_face import FormFace, FormSource
from bot.console.visit import Visit
from engines.flows.form.flow_fields import FlowFields
from engines.flows.form.source import FlowSource, load_agents


async def open_form(visit: Visit) -> FormSource:
    return FlowSource(FlowFields(visit.say, await load_agents(visit)))


FORM: Final = FormFace(open=open_form)
