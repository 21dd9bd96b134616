"""What an agent of flows is: its part, its model, and what it may do (S002-12, S002-24…27)."""

from collections.abc import Mapping
from typing import Annotated, Final, Protocol

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.engines.shared.declared import Options

KIND: Final = "agent"

OWN_TOOLS: Final[Mapping[str, tuple[str, str, str]]] = {
    "rag_search": ("Answers a question from the company's documents.", "question", "The question, short and complete."),
    "calculate": ("Calculates with numbers, sums of money and percent.", "expression", 'Such as "150 000 + 20%".'),
}
"""Tools that are no methods of the portal: name: (what it does, its parameter, what that means)."""


class Agent(BaseModel):
    """An agent as its author writes it. Its key, its versions, and whether it is active belong to the store of definitions."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, alias_generator=Options.model_config["alias_generator"])

    title: str = Field("", max_length=200, description="What people call it.")
    description: str = Field("", max_length=2000, description="What it is good at.")
    system_prompt: str = Field(min_length=1, max_length=100_000, description="What it is told about its part.")
    model: str = Field("", max_length=200, description="The name of a model of the settings; without it that of the role tool.")
    default_options: Options = Field(default_factory=Options, description="Options that a step may override.")
    tools: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default_factory=list,
        max_length=30,
        description="What it may use while it works: reading methods such as crm.deal.list, rag_search (documents), calculate.",
    )
    effects: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default_factory=list, max_length=100, description="Methods that it may propose, such as crm.deal.update; each passes the gate."
    )


class FindAgents(Protocol):
    """Finds agents by the UUIDs of their versions."""

    async def __call__(self, versions: list[str], /) -> Mapping[str, object]:
        """Return published versions of active agents; others are left out."""


async def find_no_agents(_versions: list[str], /) -> Mapping[str, object]:
    """For a program without a store of agents."""
    return {}
