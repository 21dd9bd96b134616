// The audit tab: the latest records of all people, searchable, each opens to the line as it lies in the log.

import { get } from "./api.js";
import { byId, emptyState, h, icon } from "./dom.js";
import { clockSeconds, parseMoment, plural, sameDay, shortMoment } from "./format.js";
import { poll } from "./side.js";

const EVERY = 2500;

export class Audit {
  constructor(side, enabled, nameOf) {
    this.side = side;
    this.nameOf = nameOf;
    this.pane = byId("pane-audit");
    this.drawn = "";
    this.newest = null;
    if (!enabled) return this.pane.replaceChildren(emptyState("audit", "Журнал не подключён", "Песочница запущена без папки журнала аудита."));
    this.find = h("input", { class: "find", type: "search", placeholder: "Сделка, человек, метод…", "aria-label": "Поиск по журналу", oninput: () => this.look() });
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
    this.count.textContent = records.length ? plural(records.length, "запись", "записи", "записей") : "";
    if (!records.length) {
      const text = query ? `По запросу «${query}» записей нет.` : "Как только бот ответит, здесь появится запись: вход, решение, вызовы, кто подтвердил.";
      return this.list.replaceChildren(emptyState("audit", query ? "Ничего не найдено" : "Журнал пока пуст", text));
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
        h("span", { class: "record-head" }, h("b", {}, this.nameOf(record.user)), h("time", { title: record.time }, when)),
        record.text && h("span", { class: "record-text" }, record.text),
        record.calls.length > 0 && h("span", { class: "record-calls" }, record.calls.map(callPill)),
        record.approved_by && h("span", { class: "approved" }, icon("check", 14), `подтвердил(а) ${this.nameOf(record.approved_by)}`)),
      h("pre", { class: "json" }, JSON.stringify(record.raw, null, 2)));
  }
}

function callPill(call) {
  const status = call.status.toLowerCase();
  const look = ["ok", "success", "succeeded", "executed"].includes(status) ? "ok" : /err|fail|refus|den|unknown|block/.test(status) ? "error" : "plain";
  return h("span", { class: `pill ${look}`, title: call.status }, call.method);
}
