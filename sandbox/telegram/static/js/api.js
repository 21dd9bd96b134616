// Calls to this sandbox's own server; a failure becomes an Error whose message may be shown to a person.

import { t } from "./texts.js";

async function answerOf(response) {
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(body.code ? t(`tour.failures.${body.code}`) : body.detail ?? t("page.failed", { status: response.status }));
  return body;
}

export async function get(path) {
  return answerOf(await fetch(path, { cache: "no-store" }));
}

export async function post(path, body = {}) {
  return answerOf(await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }));
}

// Progress of a long action: the server answers with one JSON object per line, as they happen.
export async function postLines(path, body, onLine) {
  const response = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  if (!response.ok) return answerOf(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    rest += value ?? "";
    const lines = rest.split("\n");
    rest = done ? "" : lines.pop();
    for (const line of lines) if (line.trim()) onLine(JSON.parse(line));
    if (done) return null;
  }
}
