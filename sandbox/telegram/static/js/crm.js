// The CRM tab: deals as they are now, changed rows flash, and the calls that reached the portal.

import { get } from "./api.js";
import { byId, emptyState, h, icon } from "./dom.js";
import { clockSeconds, money, parseMoment, roughly } from "./format.js";
import { avatar } from "./people.js";
import { poll } from "./side.js";
import { callName, counted, t } from "./texts.js";

const EVERY = 1200;
const KEEP_MARK = 25_000;
const LEDGER_ROWS = 300;
const READING = /(\.(get|list|fields|current|search)|^(batch|profile|scope|methods))$/;

export class Crm {
  constructor(side, enabled) {
    this.side = side;
    this.pane = byId("pane-crm");
    this.deals = new Map();
    this.marks = new Map();
    this.rows = new Map();
    this.after = 0;
    this.total = 0;
    this.open = new Map();
    this.onlyWrites = false;
    this.query = "";
    if (!enabled) return this.pane.replaceChildren(emptyState("crm", t("crm.off_title"), t("crm.off_text")));
    this.build();
    poll(() => this.look(), EVERY);
  }

  shown() {}

  build() {
    this.live = h("i", { class: "live", title: t("crm.live") });
    this.sum = h("span", { class: "sum" });
    this.find = h("input", { class: "find", type: "search", placeholder: t("crm.find"), "aria-label": t("crm.find"), oninput: (event) => { this.query = event.target.value.trim().toLowerCase(); this.drawDeals(); } });
    this.dealList = h("div", { class: "rows", id: "deals" });
    this.ledgerCount = h("span", { class: "sum" });
    this.ledger = h("div", { class: "rows", id: "ledger" });
    this.noCalls = emptyState("audit", t("crm.no_calls"), t("crm.no_calls_text"));
    this.ledger.append(this.noCalls);
    this.pane.replaceChildren(
      h("div", { class: "crm-half" }, h("div", { class: "half-head" }, this.live, h("h2", {}, t("crm.deals")), this.sum, this.find), this.dealList),
      h("div", { class: "crm-half" }, h("div", { class: "half-head" }, h("h2", {}, t("crm.calls")), this.ledgerCount, this.toggle()), this.ledger));
  }

  toggle() {
    const all = h("button", { type: "button", "aria-pressed": "true" }, t("crm.all"));
    const writes = h("button", { type: "button", "aria-pressed": "false" }, t("crm.writes"));
    const choose = (onlyWrites) => () => {
      this.onlyWrites = onlyWrites;
      all.setAttribute("aria-pressed", String(!onlyWrites));
      writes.setAttribute("aria-pressed", String(onlyWrites));
      for (const { row, call } of this.rows.values()) row.hidden = onlyWrites && isReading(call);
    };
    all.addEventListener("click", choose(false));
    writes.addEventListener("click", choose(true));
    return h("div", { class: "toggle" }, all, writes);
  }

  async look() {
    try {
      const [{ deals }, { calls }] = await Promise.all([get("/demo/crm"), get(`/demo/ledger?after=${this.from()}`)]);
      this.live.classList.remove("off");
      this.compare(deals);
      this.addCalls(calls);
    } catch {
      this.live.classList.add("off");
    }
  }

  // Ask again from the oldest call that had no outcome yet.
  from() {
    return this.open.size ? Math.min(...this.open.keys()) - 1 : this.after;
  }

  compare(deals) {
    const first = this.deals.size === 0;
    const seen = new Map(deals.map((deal) => [deal.id, deal]));
    let changed = first;
    for (const deal of deals) {
      const old = this.deals.get(deal.id);
      if (old && JSON.stringify(old) === JSON.stringify(deal)) continue;
      changed = true;
      if (!first) this.marks.set(deal.id, { at: Date.now(), was: this.marks.get(deal.id)?.was ?? old ?? null });
    }
    for (const id of this.deals.keys()) changed ||= !seen.has(id);
    for (const [id, mark] of this.marks) if (Date.now() - mark.at > KEEP_MARK) changed = this.marks.delete(id);
    this.deals = seen;
    if (!changed) return;
    this.drawDeals();
    if (this.marks.size && !first) this.side.hint("crm");
  }

  drawDeals() {
    const deals = [...this.deals.values()].filter((deal) => !this.query || `${deal.id} ${deal.title} ${deal.owner} ${stageOf(deal)}`.toLowerCase().includes(this.query));
    deals.sort((a, b) => this.marks.has(b.id) - this.marks.has(a.id) || b.id - a.id);
    const working = deals.filter((deal) => deal.semantics === "P");
    const total = working.reduce((sum, deal) => sum + (deal.currency === "RUB" ? deal.sum : 0), 0);
    this.sum.textContent = working.length ? t("crm.in_work", { count: working.length, sum: roughly(total) }) : "";
    this.dealList.replaceChildren(...(deals.length ? deals.map((deal) => this.dealRow(deal)) : [emptyState("crm", t("crm.nothing"), t("crm.nothing_text"))]));
  }

  dealRow(deal) {
    const mark = this.marks.get(deal.id);
    const was = mark?.was;
    const fresh = mark && Date.now() - mark.at < 6000;
    const before = (name, show) => was && was[name] !== deal[name] && h("span", { class: "was" }, show(was[name]));
    return h("div", { class: `deal ${fresh ? "changed" : ""}`, data: { id: deal.id } },
      h("div", { class: "deal-title", title: deal.title }, before("title", String), h("b", {}, deal.title), h("small", {}, t("crm.number", { number: deal.id }))),
      h("div", { class: "deal-sum" }, before("sum", (sum) => money(sum, deal.currency)), money(deal.sum, deal.currency)),
      h("div", {}, before("stage", String), h("span", { class: `pill ${deal.semantics}` }, stageOf(deal))),
      h("div", { class: "deal-owner" }, before("owner", String), avatar(deal.owner, "small"), deal.owner || t("crm.owner_unknown")));
  }

  addCalls(calls) {
    const near = this.ledger.scrollTop < 40;
    const first = this.rows.size === 0;
    for (const call of calls) {
      this.after = Math.max(this.after, call.seq);
      if (call.state === "open") this.open.set(call.seq, true);
      else this.open.delete(call.seq);
      this.addCall(call, !first);
    }
    if (!calls.length) return;
    this.noCalls.remove();
    for (const seq of [...this.rows.keys()].slice(0, Math.max(0, this.rows.size - LEDGER_ROWS))) this.rows.get(seq).row.remove(), this.rows.delete(seq);
    this.ledgerCount.textContent = counted("crm.count", this.total);
    if (near) this.ledger.scrollTop = 0;
  }

  addCall(call, fresh) {
    const old = this.rows.get(call.seq);
    if (old && JSON.stringify(old.call) === JSON.stringify(call)) return;
    const row = callRow(call, fresh);
    row.hidden = this.onlyWrites && isReading(call);
    if (old) old.row.replaceWith(row);
    else this.place(row, call), (this.total += 1);
    this.rows.set(call.seq, { row, call });
  }

  // Newest on top; the commands of a batch below it, in their order.
  place(row, call) {
    const group = [...this.rows.values()].filter((item) => call.batch && (item.call.batch === call.batch || item.call.seq === call.batch)).at(-1);
    if (group) group.row.after(row);
    else this.ledger.prepend(row);
  }
}

const stageOf = (deal) => deal.stage || t(`crm.stage_unknown.${deal.semantics}`);
const LOOKS = { ok: "ok", open: "open" };
const isReading = (call) => READING.test(call.method) && !call.applied;

function callRow(call, fresh) {
  const time = parseMoment(call.time);
  return h("details", { class: `line ${fresh ? "fresh" : ""} ${call.batch ? "inner" : ""}`, data: { seq: call.seq } },
    h("summary", {},
      h("time", {}, time ? clockSeconds(time) : ""),
      h("span", { class: "method" }, callName(call.told)),
      h("span", { class: "marks" }, call.applied && h("span", { class: "applied", title: t("crm.saved") }, icon("saved", 15)), h("span", { class: `pill ${LOOKS[call.state] ?? "error"}` }, t(`crm.outcomes.${call.state}`)))),
    h("pre", { class: "json" }, JSON.stringify({ method: call.method, outcome: call.outcome, params: call.params ?? {} }, null, 2)));
}
