from state.events.base import Event
from state.events.personal import Personal


class ConsoleEntered(Event):
    person: str
    login_id: str


class PolicySaved(Event):
    person: str
    name: Personal[str]
    digest: str
