// The texts of the page in the chosen language; they stand in texts/*.yaml on the server and nowhere in these scripts.

import { get } from "./api.js";
import { byId } from "./dom.js";

const KEPT = "language";
let texts = {};
let chosen = "ru";

export const language = () => chosen;
export const locale = () => texts.locale;

export async function loadTexts() {
  const asked = new URLSearchParams(location.search).get("lang") ?? localStorage.getItem(KEPT);
  chosen = asked === "en" ? "en" : "ru";
  texts = await get(`/demo/texts/${chosen}`);
}

// The text under a key such as "crm.deals", with {name} replaced; a missing key shows itself, which a test finds.
export function t(key, values = {}) {
  const text = look(key) ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// Whatever stands under a key: a list, a table; undefined if nothing does.
export function look(key) {
  return key.split(".").reduce((found, part) => found?.[part], texts);
}

// What a person may try in the demo: it ends well for that person, who may not see every deal.
export const examplesOf = (person) => look(`chat.examples.${person}`) ?? look("chat.examples.default");

export function counted(key, count) {
  const form = new Intl.PluralRules(locale()).select(count);
  return t(`${key}.${look(`${key}.${form}`) ? form : "many"}`, { count: count.toLocaleString(locale()) });
}

// What a call of the portal is called, as the server described it.
export function callName({ kind, verb, number }) {
  const words = { kind: t(`calls.kinds.${kind}`), verb: t(`calls.verbs.${verb}`), number };
  return t(number === null ? "calls.line" : "calls.numbered", words);
}

// Elements of the page name their texts: data-text, data-label (for readers), data-hint (both label and tooltip), data-placeholder.
export function fillPage() {
  document.documentElement.lang = chosen;
  document.title = t("page.title");
  for (const element of document.querySelectorAll("[data-text], [data-label], [data-hint], [data-placeholder]")) {
    const { text, label, hint, placeholder } = element.dataset;
    if (text) element.textContent = t(text);
    if (label ?? hint) element.setAttribute("aria-label", t(label ?? hint));
    if (hint) element.title = t(hint);
    if (placeholder) element.placeholder = t(placeholder);
  }
}

// The switch shows the other language; `tell` lets the bot know before the page is loaded anew.
export function startSwitch(tell) {
  byId("language").addEventListener("click", async () => {
    const next = chosen === "ru" ? "en" : "ru";
    byId("language").disabled = true;
    localStorage.setItem(KEPT, next);
    await tell(next).catch(() => {});
    location.href = `/${location.hash}`;
    location.reload();
  });
}
