"""The OpenAPI description as one HTML page, without scripts and other servers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from pydantic import AliasPath, ConfigDict, Field

from orchestrator.domain.frozen import View
from state.stored import JsonObject

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2733}
h2{margin-top:2.5rem;border-top:1px solid #d5dde5;padding-top:1.5rem}code,pre{font:14px/1.4 ui-monospace,monospace}
pre{background:#f3f6f9;padding:.8rem;overflow:auto;border-radius:6px}table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #e6ebf0}
.verb{background:#1463c4;color:#fff;border-radius:4px;padding:.1rem .5rem;margin-right:.5rem}
"""


class _Schema(View):
    model_config = ConfigDict(extra="allow")
    ref: str = Field("", alias="$ref")
    title: str = ""
    description: str = ""
    type: str = "any"
    enum: Sequence[object] = ()
    any_of: Sequence["_Schema"] = Field((), alias="anyOf")
    items: "_Schema | None" = None
    properties: Mapping[str, "_Schema"] | None = None
    required: Sequence[str] = ()
    examples: Sequence[object] = ()

    @property
    def name(self) -> str:
        """Of `$ref`, such as "ChatBody"; else the title, which may be ""."""
        return self.ref.rpartition("/")[2] or self.title


class _Media(View):
    form: _Schema = Field(_Schema(), alias="schema")


class _Answer(View):
    description: str = ""
    content: Mapping[str, _Media] = Field({})


class _Parameter(_Media):
    name: str
    place: str = Field(alias="in")
    required: bool = False
    description: str = ""


class _Operation(View):
    summary: str = ""
    description: str = ""
    parameters: Sequence[_Parameter] = ()
    body: Mapping[str, _Media] = Field({}, validation_alias=AliasPath("requestBody", "content"))
    responses: Mapping[str, _Answer] = Field({})


class _Document(View):
    title: str = Field(validation_alias=AliasPath("info", "title"))
    description: str = Field("", validation_alias=AliasPath("info", "description"))
    schemas: Mapping[str, _Schema] = Field({}, validation_alias=AliasPath("components", "schemas"))
    paths: Mapping[str, Mapping[str, _Operation]]


def render_docs_page(description: JsonObject) -> str:
    document = _Document.model_validate(description)
    title = escape(f"{document.title}: the HTTP API")
    operations = "".join(
        _render_operation(verb, path, operation) for path, operations in document.paths.items() for verb, operation in operations.items()
    )
    models = "".join(
        f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{escape(schema.description)}</p>{_render_schema(schema)}'
        for name, schema in sorted(document.schemas.items())
    )
    machine = '<p>For programs: <a href="openapi.json">openapi.json</a>. Every request needs the header <code>X-API-Key</code>.</p>'
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style></head>'
    intro = f"<p>{escape(document.description)}</p>"
    return f"{head}<body><h1>{title}</h1>{intro}{machine}{operations}<h2>Bodies</h2>{models}</body></html>"


def _render_operation(verb: str, path: str, operation: _Operation) -> str:
    head = f'<h2><span class="verb">{escape(verb.upper())}</span><code>{escape(path)}</code></h2>'
    meaning = f"<p>{escape(operation.summary)}. {escape(operation.description)}</p>"
    parameters = _render_table(
        ("Parameter", "In", "Meaning"),
        (
            (item.name, item.place + ("" if item.required else " (optional)"), item.description or item.form.description)
            for item in operation.parameters
        ),
    )
    body = "".join(f"<h3>Body</h3>{_render_schema(media.form)}" for media in operation.body.values())
    answers = _render_table(
        ("Status", "Body", "Meaning"),
        (
            (code, ", ".join(sorted({media.form.name for media in item.content.values()} - {""})), item.description)
            for code, item in operation.responses.items()
        ),
    )
    return f"{head}{meaning}{parameters}{body}<h3>Answers</h3>{answers}"


def _render_schema(schema: _Schema) -> str:
    if schema.ref:
        return f'<p><a href="#{escape(schema.name)}">{escape(schema.name)}</a></p>'
    if schema.properties is None:
        return f"<pre>{escape(schema.model_dump_json(by_alias=True, exclude_unset=True, indent=1))}</pre>"
    rows = (
        (name, _format_type(field) + ("" if name in schema.required else " (optional)"), _describe_field(field))
        for name, field in schema.properties.items()
    )
    return _render_table(("Field", "Type", "Meaning"), rows)


def _describe_field(field: _Schema) -> str:
    examples = [json.dumps(example, ensure_ascii=False) for example in field.examples]
    return " ".join([field.description, *(f"For example {example}." for example in examples)]).strip()


def _format_type(field: _Schema) -> str:
    if field.ref:
        return field.name
    if field.any_of:
        return " or ".join(_format_type(schema) for schema in field.any_of)
    if field.enum:
        return " | ".join(str(value) for value in field.enum)
    return f"list of {_format_type(field.items or _Schema())}" if field.type == "array" else field.type


def _render_table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    names = "".join(f"<th>{name}</th>" for name in head)
    return f"<table><tr>{names}</tr>{lines}</table>" if lines else ""
