"""A secret of the installation that http effects may send, under the name by which an effect refers to it."""

from pydantic import SecretStr

from orchestrator.domain.frozen import Frozen


class HttpCredential(Frozen):
    """A secret that may be sent to one host: the header that carries it, and its value."""

    host: str
    """The host as in the policy's list: `api.example.com`."""
    header: str = "Authorization"
    value: SecretStr
