"""Renders the OpenAPI description as one HTML page, without scripts and without anything from other servers. Pure."""

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2733}
h2{margin-top:2.5rem;border-top:1px solid #d5dde5;padding-top:1.5rem}code,pre{font:14px/1.4 ui-monospace,monospace}
pre{background:#f3f6f9;padding:.8rem;overflow:auto;border-radius:6px}table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #e6ebf0}
.verb{background:#1463c4;color:#fff;border-radius:4px;padding:.1rem .5rem;margin-right:.5rem}
"""
Schema = Mapping[str, Any]


def render_docs_page(description: Schema) -> str:
    """Return the HTML page of an OpenAPI description."""
    title = escape(f"{description['info']['title']}: the HTTP API")
    intro = escape(str(description["info"].get("description", "")))
    schemas = description.get("components", {}).get("schemas", {})
    operations = "".join(
        _render_operation(verb, path, operation)
        for path, operations in description["paths"].items()
        for verb, operation in operations.items()
        if isinstance(operation, Mapping)
    )
    models = "".join(_render_model(name, schema) for name, schema in sorted(schemas.items()))
    machine = '<p>For programs: <a href="openapi.json">openapi.json</a>. Every request needs the header <code>X-API-Key</code>.</p>'
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style></head>'
    return f"{head}<body><h1>{title}</h1><p>{intro}</p>{machine}{operations}<h2>Bodies</h2>{models}</body></html>"


def _render_operation(verb: str, path: str, operation: Schema) -> str:
    head = f'<h2><span class="verb">{escape(verb.upper())}</span><code>{escape(path)}</code></h2>'
    told = f"<p>{escape(str(operation.get('summary', '')))}. {escape(str(operation.get('description', '')))}</p>"
    parameters = _render_table(("Parameter", "In", "Meaning"), (_build_parameter_row(item) for item in operation.get("parameters", ())))
    bodies = operation.get("requestBody", {}).get("content", {}).values()
    body = "".join(f"<h3>Body</h3>{_render_schema(item.get('schema', {}))}" for item in bodies)
    answers = _render_table(
        ("Status", "Body", "Meaning"), (_build_answer_row(code, item) for code, item in operation.get("responses", {}).items())
    )
    return f"{head}{told}{parameters}{body}<h3>Answers</h3>{answers}"


def _build_parameter_row(item: Schema) -> tuple[str, str, str]:
    needed = "" if item.get("required") else " (optional)"
    return item["name"], item["in"] + needed, str(item.get("description") or item.get("schema", {}).get("description") or "")


def _build_answer_row(code: str, item: Schema) -> tuple[str, str, str]:
    names = {_find_schema_name(content.get("schema", {})) for content in item.get("content", {}).values()} - {""}
    return code, ", ".join(sorted(names)), str(item.get("description", ""))


def _find_schema_name(schema: Schema) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2] or str(schema.get("title", ""))


def _render_model(name: str, schema: Schema) -> str:
    return f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{escape(str(schema.get("description", "")))}</p>{_render_schema(schema)}'


def _render_schema(schema: Schema) -> str:
    if "$ref" in schema:
        name = escape(_find_schema_name(schema))
        return f'<p><a href="#{name}">{name}</a></p>'
    if "properties" not in schema:
        return f"<pre>{escape(json.dumps(schema, ensure_ascii=False, indent=1))}</pre>"
    needed = schema.get("required", ())
    rows = (
        (name, _format_type(field) + ("" if name in needed else " (optional)"), _describe_field(field))
        for name, field in schema["properties"].items()
    )
    return _render_table(("Field", "Type", "Meaning"), rows)


def _describe_field(field: Schema) -> str:
    examples = [json.dumps(example, ensure_ascii=False) for example in field.get("examples", ())]
    return " ".join([str(field.get("description", "")), *(f"For example {example}." for example in examples)]).strip()


def _format_type(field: Schema) -> str:
    if "$ref" in field:
        return _find_schema_name(field)
    if several := field.get("anyOf"):
        return " or ".join(_format_type(one) for one in several)
    if "enum" in field:
        return " | ".join(str(value) for value in field["enum"])
    if field.get("type") == "array":
        return f"list of {_format_type(field.get('items', {}))}"
    return str(field.get("type", "any"))


def _render_table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    names = "".join(f"<th>{name}</th>" for name in head)
    return f"<table><tr>{names}</tr>{lines}</table>" if lines else ""
