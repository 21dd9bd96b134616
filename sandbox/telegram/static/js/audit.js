// The audit tab: the latest records of all people, searchable, each opens to the line as it lies in the log.

import { get } from "./api.js";
import { byId, emptyState, h, icon } from "./dom.js";
import { clockSeconds, parseMoment, sameDay, shortMoment } from "./format.js";
import { poll } from "./side.js";
import { callName, counted, t } from "./texts.js";

const EVERY = 2500;

export class Audit {
  constructor(side, enabled, nameOf) {
    this.side = side;
    this.nameOf = nameOf;
    this.pane = byId("pane-audit");
    this.drawn = "";
    this.newest = null;
    if (!enabled) return this.pane.replaceChildren(emptyState("audit", t("audit.off_title"), t("audit.off_text")));
    this.find = h("input", { class: "find", type: "search", placeholder: t("audit.find"), "aria-label": t("audit.find_label"), oninput: () => this.look() });
    this.count = h("span", { class: "count" });
    this.list = h("div", { class: "records" });
    this.pane.replaceChildren(h("div", { class: "audit-head" }, this.find, this.count), this.list);
    poll(() => this.look(), EVERY);
  }

  shown(filter) {
    if (filter === undefined || !this.find) return;
    this.find.value = filter;
    this.look();
  }

  async look() {
    const query = this.find.value.trim();
    const { records } = await get(`/demo/audit?find=${encodeURIComponent(query)}`).catch(() => ({ records: null }));
    if (records === null || query !== this.find.value.trim()) return;
    const now = JSON.stringify(records);
    if (now === this.drawn) return;
    this.drawn = now;
    const newest = records[0]?.time ?? "";
    if (this.newest !== null && !query && newest > this.newest) this.side.hint("audit");
    if (!query) this.newest = newest;
    this.draw(records, query);
  }

  draw(records, query) {
    const opened = new Set([...this.list.querySelectorAll("details[open]")].map((item) => item.dataset.key));
    this.count.textContent = records.length ? counted("audit.count", records.length) : "";
    if (!records.length) {
      const text = query ? t("audit.nothing_text", { query }) : t("audit.empty_text");
      return this.list.replaceChildren(emptyState("audit", t(query ? "audit.nothing" : "audit.empty"), text));
    }
    return this.list.replaceChildren(...records.map((record) => {
      const element = this.record(record);
      element.open = opened.has(element.dataset.key);
      return element;
    }));
  }

  record(record) {
    const time = parseMoment(record.time);
    const when = time ? (sameDay(time, new Date()) ? clockSeconds(time) : shortMoment(time)) : record.time;
    return h("details", { class: "record", data: { key: `${record.user}|${record.time}` } },
      h("summary", {},
        h("span", { class: "record-head" }, h("b", {}, this.who(record.user)), h("time", { title: record.time }, when)),
        h("span", { class: "record-text" }, record.kind === "message" ? record.text : t(`audit.${record.kind}`)),
        record.calls.length > 0 && h("span", { class: "record-calls" }, record.calls.map(callPill)),
        record.decision && this.decision(record.decision)),
      h("pre", { class: "json", "aria-label": t("audit.details") }, JSON.stringify(record.raw, null, 2)));
  }

  decision({ code, by }) {
    const look = code === "approved" ? "good" : code === "denied" ? "denied" : "plain";
    const sign = { good: "check", denied: "close", plain: "audit" }[look];
    return h("span", { class: `decided ${look}` }, icon(sign, 14), t(`audit.decisions.${code}`, { who: this.who(by) }));
  }

  // A person's name; the log names people of Telegram by "tg:7", programs by "http:site".
  who(given) {
    const [door, rest] = given.split(":");
    if (door === "http" && rest) return t("audit.api_client", { name: rest });
    const name = this.nameOf(door === "tg" && rest ? rest : given);
    return /^(tg:|tg%3a)?\d*$/.test(name) ? t("audit.unknown_person") : name;
  }
}

const LOOKS = { succeeded: "ok", refused: "error", unknown: "error" };

function callPill(call) {
  return h("span", { class: `pill ${LOOKS[call.state] ?? "plain"}` }, callName(call), " · ", t(`audit.call_states.${call.state}`));
}
