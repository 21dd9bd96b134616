"""Options of models that are said at several places."""

from typing import Any

from orchestrator.domain.models import ModelOptions
from orchestrator.engines.shared.declared import Options


def join_options(*given: Options) -> ModelOptions:
    """Return options of which each comes from the last that says it: the agent's, then the flow's, then the step's."""
    said: dict[str, Any] = {}
    for one in given:
        said |= {name: getattr(one, name) for name in Options.model_fields if getattr(one, name) is not None}
    return ModelOptions(temperature=said.get("temperature"), top_p=said.get("top_p"), max_tokens=said.get("max_tokens"))
