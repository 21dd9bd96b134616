"""The bodies of requests that hand in a flow or an agent, and how OpenAPI describes them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Final

from pydantic import ConfigDict, Field

from bot.http_api.definitions.request_body import Details, DocumentBody, Key, Note
from state.stored import JsonObject

_YAML_ABOUT: Final = "The definition itself, as the text of a file; `changeNotes` stands in the query."


class CheckedBody(DocumentBody):
    """The body of a request to check a definition: as JSON data in `definition`, or as the text of a file in `text`."""

    FIELD: ClassVar[str] = "definition"
    NOTE: ClassVar[str] = "changeNotes"
    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["definition"]}, {"required": ["text"]}]})
    document: Annotated[Any, Field(alias="definition", description="The definition as JSON data.")] = None


class CreatedBody(CheckedBody):
    """The body of a request that makes a new version of a flow, whose name is its flowId."""

    note: Annotated[Note, Field(alias="changeNotes")] = ""

    @property
    def details(self) -> Details:
        """What the body says of its definition."""
        return Details(note=self.note)


class SavedBody(CreatedBody):
    """The body of a request that replaces the text of a draft."""

    revision: Annotated[int | None, Field(ge=1, le=999_999_999, description="The revision that the caller saw, as If-Match.")] = None

    @property
    def details(self) -> Details:
        """What the body says of its definition."""
        return replace(super().details, revision=self.revision)


class CreatedAgentBody(CreatedBody):
    """The body of a request that makes a new version of an agent, of a new key or of one that is there."""

    key: Key

    @property
    def details(self) -> Details:
        """What the body says of its definition."""
        return replace(super().details, key=self.key)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What the description of the API shows as a definition: as data, and as a file. `beside` is what else a new one needs."""

    document: JsonObject
    text: str
    beside: Mapping[str, str]


FLOW_SAMPLE: Final = Sample(
    document={
        "flowId": "offer",
        "metadata": {"title": "Draft of an offer", "tags": ["sales"]},
        "steps": [
            {"id": "draft", "agentVersionId": "writer", "transitions": {"onSuccess": {"next": "review"}}},
            {"id": "review", "agentVersionId": "writer", "prompt": "Check the offer.", "transitions": {"onSuccess": {"complete": True}}},
        ],
    },
    text="flowId: offer\nmetadata: {title: Draft of an offer}\nsteps:\n  - {id: draft, agentVersionId: writer}  # a comment\n",
    beside={},
)
AGENT_SAMPLE: Final = Sample(
    document={"title": "Writer", "systemPrompt": "You write offers.", "defaultOptions": {"temperature": 0.4}},
    text="title: Writer\nsystemPrompt: You write offers.\n",
    beside={"key": "writer"},
)


def build_body_schema(model: type[DocumentBody], sample: Sample, *, is_new: bool = False) -> dict[str, object]:
    """Return the description of a body for OpenAPI: JSON in the form of `model`, or YAML that is the definition itself."""
    beside = sample.beside if is_new else {}
    examples = [{**beside, model.FIELD: sample.document}, {**beside, "text": sample.text}]
    form = {**model.model_json_schema(), "examples": examples}
    yaml = {"schema": {"description": _YAML_ABOUT, "examples": [sample.document]}}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": form}, "application/yaml": yaml}}}


def build_file_schema(sample: Sample) -> dict[str, object]:
    """Return the description of a body that is the definition itself, as JSON or YAML."""
    form = {"schema": {"description": _YAML_ABOUT, "examples": [sample.document]}}
    return {"requestBody": {"required": True, "content": {"application/json": form, "application/yaml": form}}}
