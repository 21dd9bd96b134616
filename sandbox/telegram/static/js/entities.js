// Telegram text with entities to elements. Offsets are UTF-16 units, which is how JavaScript counts too.

import { h, icon } from "./dom.js";
import { deepLink } from "./links.js";
import { t } from "./texts.js";
import { toast } from "./toasts.js";

// A block stands on lines of its own: the line break beside it ends its line and is none of the text around it.
const BLOCKS = new Set(["blockquote", "expandable_blockquote", "pre"]);
const PLAIN = { bold: "strong", italic: "em", underline: "u", strikethrough: "s" };

export function renderText(text, entities, onCommand) {
  const sorted = [...entities].sort((a, b) => a.offset - b.offset || b.length - a.length);
  return pieces(text, sorted, 0, text.length, onCommand);
}

function pieces(text, entities, start, end, onCommand) {
  const nodes = [];
  let position = start;
  let index = 0;
  while (index < entities.length) {
    const entity = entities[index];
    const from = Math.max(entity.offset, position);
    const to = Math.min(entity.offset + entity.length, end);
    index += 1;
    if (to <= from) continue;
    const block = BLOCKS.has(entity.type);
    const before = text.slice(position, from);
    if (before) nodes.push(block ? before.replace(/\n$/, "") : before);
    const inner = [];
    while (index < entities.length && entities[index].offset < to) inner.push(entities[index++]);
    nodes.push(wrapped(entity, text.slice(from, to), pieces(text, inner, from, to, onCommand), onCommand));
    position = block && text[to] === "\n" ? Math.min(to + 1, end) : to;
  }
  if (position < end) nodes.push(text.slice(position, end));
  return nodes;
}

function wrapped(entity, raw, children, onCommand) {
  const copy = () => navigator.clipboard?.writeText(raw).then(() => toast(t("chat.copied")));
  switch (entity.type) {
    case "code":
      return h("code", { title: t("chat.copy"), onclick: copy }, children);
    case "pre":
      return h("pre", { title: t("chat.copy"), onclick: copy, data: entity.language ? { language: entity.language } : {} }, children);
    case "url":
      return anchor(raw, children, onCommand);
    case "text_link":
      return anchor(entity.url, children, onCommand);
    case "bot_command":
      return h("span", { class: "link", role: "button", tabindex: "0", onclick: () => onCommand(raw) }, children);
    case "mention":
    case "hashtag":
    case "text_mention":
      return h("span", { class: "link" }, children);
    case "spoiler":
      return h("span", { class: "spoiler", onclick: (event) => event.currentTarget.classList.add("seen") }, children);
    case "blockquote":
      return h("blockquote", {}, h("span", { class: "quoted" }, children));
    case "expandable_blockquote":
      return expandable(raw, children);
    default:
      return h(PLAIN[entity.type] ?? "span", {}, children);
  }
}

function anchor(address, children, onCommand) {
  const start = deepLink(address);
  if (start) return h("span", { class: "link", role: "button", tabindex: "0", title: address, onclick: () => onCommand(start) }, children);
  const safe = /^(https?|tg|mailto):/i.test(address);
  return safe ? h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, children) : h("span", {}, children);
}

function expandable(raw, children) {
  const quote = h("blockquote", {}, h("span", { class: "quoted" }, children));
  if (raw.split("\n").length <= 3 && raw.length < 180) return quote;
  quote.classList.add("closed");
  const turn = () => quote.classList.toggle("closed");
  quote.append(h("button", { class: "unfold", type: "button", "aria-label": t("chat.unfold"), onclick: turn }, icon("down", 18)));
  return quote;
}
