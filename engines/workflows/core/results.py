"""What a workflow gives, as JSON with the names of the seed (S003-16…21, S003-66…72, S003-M5)."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel, to_pascal

from state.stored import JsonObject

OperationType = Literal["CreateEntity", "ModifyEntity", "DeleteEntity"]
EntityType = Literal["deal", "lead", "contact", "company", "activity", "task"]
ModifyOperator = Literal["=", "+=", "-=", "*=", "/="]
UpdateMode = Literal["FullSnapshot", "Incremental"]


class AtomicOperation(BaseModel):
    """One change of one record that a workflow proposes (S003-X9). The engine never makes it (S003-18)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel, populate_by_name=True)

    operation_type: OperationType
    entity_type: EntityType
    entity_id: Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]
    """The number of the record; of a new one a name by which later operations call it."""
    initial_attributes: JsonObject | None = None
    attribute_key: str | None = None
    modify_operator: ModifyOperator | None = None
    modify_value: Any = None


class DisplayUpdatePayload(BaseModel):
    """Something that is shown before the run ends (S003-66 … S003-69)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_pascal, populate_by_name=True)

    content: str
    update_mode: UpdateMode = "FullSnapshot"
    incremental_type: str | None = None


class WorkflowExecutionResult(BaseModel):
    """The result of a run. After a failure it has neither text nor operations: half a plan is never applied (S003-A6)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel, populate_by_name=True)

    is_success: bool
    raw_text: str = ""
    operations: tuple[AtomicOperation, ...] = ()
    """By level of the graph, then in the order of the file, then as they were emitted."""
    globals: JsonObject = Field(default_factory=dict)
    error_code: str = ""
    """Such as TuumExecutionFailed; "" after success (S003-X4)."""
    error_message: str = ""
    finished: tuple[str, ...] = ()
    """In the order of the file."""
