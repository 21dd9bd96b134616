"""The form of a workflow as authors write it (S003-1…7, 73…80)."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Discriminator, Field, Tag

from orchestrator.engines.shared.declared import (
    Budget,
    FlowModel,
    LaunchParameter,
    Metadata,
    Options,
    ParameterType,
    RecordKind,
    Slug,
    Triggers,
)

MOST_TUUMS: Final = 10_000
"""As many as a run has nodes."""
VARIABLE: Final = r"^[^\W\d]\w{0,99}$"
"""Letters of any script, digits and underscores, as scripts and templates read them."""

Variable = Annotated[str, Field(pattern=VARIABLE)]
PROPOSAL: Final = r"^(CreateEntity|ModifyEntity|DeleteEntity) (deal|lead|contact|company|activity|task)$"
Proposal = Annotated[str, Field(pattern=PROPOSAL)]
Mappings = Annotated[dict[Variable, Variable], Field(max_length=200)]
Names = Annotated[list[Variable], Field(max_length=100)]


class Script(FlowModel):
    """A piece of Python for the sandbox: it reads the variables in `consumes`; the object in its last line gives those in `produces`."""

    source: str = Field(min_length=1, max_length=20_000, description="The script.")
    consumes: Names = Field(default_factory=list, description="The variables that it reads.")
    produces: Names = Field(default_factory=list, description="The variables that it gives.")


class Rune(FlowModel):
    """The smallest unit: one task. What else it has depends on its type (`rune_types.py`), and stands beside these fields (S003-5)."""

    rune_type: str = Field(min_length=1, max_length=100, description="What it does (S003-X8).")
    config_id: str = Field("", max_length=200, description="An id of the author's own; nothing depends on it (S003-X8).")
    name: str = Field("", max_length=200, description="What people call it.")
    enabled: bool = Field(True, description="Whether it takes part (S003-A12).")


Runes = Annotated[list[Rune], Field(max_length=200)]


class Tuum(FlowModel):
    """The unit that runs: runes which exchange variables in a pool of their own (S003-4, S003-10, S003-38).

    It runs in this order: `promptRunes`, the call of the model if `aiService` is given (with `chunkCallback` while it answers), `runes`,
    `mainScript`. Every part may be left out.
    """

    tuum_id: Slug = Field(description="Its name; of a tuum that is stored on its own, the key (S003-74).")
    config_id: str = Field("", max_length=200, description="An id of the author's own; nothing depends on it (S003-X8).")
    metadata: Metadata = Field(default_factory=Metadata, description="What people read about it.")
    enabled: bool = Field(True, description="Whether it takes part; one that does not neither needs nor gives anything (S003-A12).")
    input_mappings: Mappings | None = Field(
        None, description="Local name: global name, for what it reads. Without them locals are named as the globals (S003-X1, A1)."
    )
    output_mappings: Mappings = Field(default_factory=dict, description="Global name: local name, for what it publishes (S003-11).")
    may_propose: Annotated[list[Proposal], Field(max_length=18)] | None = Field(
        None,
        description="Ours: the only operations that it may propose, such as ModifyEntity deal. Without it its scripts may propose any, "
        "and a second person publishes it.",
    )
    variable_types: dict[Variable, ParameterType] = Field(
        default_factory=dict, max_length=200, description="Ours: what local variables are; compared with those of other tuums."
    )
    prompt_runes: Runes = Field(default_factory=list, description="What builds the prompt, in order (S003-39, S003-75).")
    ai_service: str | None = Field(
        None, min_length=1, max_length=200, description="The model that answers; none for a script alone (S003-76)."
    )
    is_streaming: bool = Field(False, description="Whether the answer is taken piece by piece (S003-79).")
    options: Options = Field(default_factory=Options, description="Ours: how the model writes.")
    blocks: Literal["program", "model"] = Field(
        "program",
        description="Ours: who opens blocks in what is shown: templates and scripts alone, or also the answer of the tuum's own model, as "
        "long as that has read nothing foreign, such as a record of the CRM.",
    )
    chunk_callback: Script | None = Field(None, description="What runs for each piece of a streamed answer (S003-43, S003-77).")
    runes: Runes = Field(default_factory=list, description="What runs after the answer, in order (S003-33).")
    main_script: Script | None = Field(None, description="What runs last, also after a call of the model that failed (S003-46, S003-78).")


class TuumReference(FlowModel):
    """A place in a workflow where a tuum stands that is stored on its own (S003-4)."""

    tuum: str = Field(min_length=1, max_length=200, description="The UUID of a version, or its key, or key@version.")
    id: Slug | None = Field(None, description="Ours: its name here, so that one tuum can stand in a workflow twice.")
    enabled: bool = Field(True, description="Whether it takes part.")
    input_mappings: Mappings | None = Field(None, description="Ours: in place of the tuum's own.")
    output_mappings: Mappings | None = Field(None, description="Ours: in place of the tuum's own.")


class Terminal(FlowModel):
    """Which globals become the result (S003-16)."""

    raw_text: Variable | None = Field(None, description="The global that is the text of the result.")
    operations: Variable | None = Field(None, description="The global whose operations follow those that were emitted.")


def is_reference(candidate: object) -> bool:
    return "tuum" in candidate if isinstance(candidate, Mapping) else isinstance(candidate, TuumReference)


def _tell_form(candidate: object) -> str:
    return "reference" if is_reference(candidate) else "tuum"


TuumEntry = Annotated[Annotated[Tuum, Tag("tuum")] | Annotated[TuumReference, Tag("reference")], Discriminator(_tell_form)]


class Workflow(FlowModel):
    """A whole workflow."""

    workflow_id: Slug = Field(description="Its name, the key under which it is stored (S003-73).")
    version: int | None = Field(None, ge=1, description="Ours: its number; the store gives it.", json_schema_extra={"readOnly": True})
    config_id: str = Field("", max_length=200, description="An id of the author's own; nothing depends on it (S003-X8).")
    metadata: Metadata = Field(default_factory=Metadata, description="What people read about it.")
    kind: Literal["main", "micro"] = Field(
        "main", description="Whether a run makes a block of its record, or only fills a place on the screen (S003-19, S003-X10)."
    )
    record: RecordKind | None = Field(
        None,
        description="Ours: the kind of record that it works on. The run is then started on one, and a global variable of that name "
        "holds its number as a text. None: on no record.",
    )
    triggers: Triggers = Field(default_factory=Triggers, description="Ours: from where it may be started.")
    trigger_parameters: list[LaunchParameter] = Field(
        default_factory=list, max_length=100, description="What its start gives; they are the first globals (S003-61, S003-62, S003-X3)."
    )
    tuums: list[TuumEntry] = Field(min_length=1, max_length=MOST_TUUMS, description="Its tuums, in any order (S003-13).")
    terminal: Terminal = Field(default_factory=Terminal, description="Which globals become the result.")
    scheduling: Literal["ready", "batch"] = Field(
        "ready", description="Ours: whether a tuum starts with its last input, or all of a batch together (S003-31, S003-A5)."
    )
    on_failure: Literal["stop", "finish"] = Field(
        "stop", description="Ours: whether after a failure nothing new starts, or what does not depend on it still runs."
    )
    budget: Budget = Field(default_factory=Budget, description="Ours: how much one run may use.")
