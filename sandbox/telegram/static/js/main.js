// Puts the page together: who looks, which chat is open, the one stream of events.

import { get, post } from "./api.js";
import { Attach } from "./attach.js";
import { Audit } from "./audit.js";
import { Chat } from "./chat.js";
import { Console } from "./console.js";
import { Composer } from "./composer.js";
import { Crm } from "./crm.js";
import { byId, h, icon } from "./dom.js";
import { setBot } from "./links.js";
import { People, avatar, roleName } from "./people.js";
import { Second } from "./second.js";
import { Side } from "./side.js";
import { fillPage, language, loadTexts, startSwitch, t } from "./texts.js";
import { complain, toast } from "./toasts.js";
import { Tour } from "./tour.js";

const DEFAULT_CHAT = 1007;
const LEAD_CHAT = 1006;
// Alone in a frame beside another chat: no columns, and the head tells whose chat it is.
const solo = new URLSearchParams(location.search).has("solo");
const place = { chat: 0, person: 0, anonymous: false, thread: null };

const nameOf = (who) => (who === "bot" ? t("chat.bot_name") : people.people.get(Number(who))?.name ?? String(who));
const side = new Side();
const people = new People((chatId) => openChat(chatId).then(() => side.mark("chat")).catch(complain));
const composer = new Composer({ send: (text, reply) => send(text, reply).catch(complain), nameOf });
new Attach({ post: (action, body) => does(action, body), takeText: (away) => composer.takeText(away), speaker: () => place.person });
const chat = new Chat({
  nameOf,
  send: (text) => send(text).catch(complain),
  answer: (message) => composer.setReply(message),
  forceReply: (message, placeholder) => composer.setReply(message, placeholder),
  idleStatus: () => t(place.chat > 0 ? "chat.bot" : "chat.group"),
});

async function openChat(chatId) {
  const row = people.chats.find((item) => item.chat_id === chatId) ?? people.chats[0];
  place.chat = row.chat_id;
  place.person = row.members.includes(place.person) ? place.person : row.members[0];
  place.anonymous &&= row.chat_id < 0;
  if (!row.topics?.some((topic) => topic.thread_id === place.thread)) place.thread = null;
  history.replaceState(null, "", `#${place.chat}`);
  people.select(place.chat);
  composer.reset();
  drawHead(row);
  await Promise.all([chat.open(place.chat, place.person, row.topics?.length ? place.thread : undefined), composer.loadCommands(place.chat)]);
}

function drawHead(row) {
  const group = row.chat_id < 0;
  byId("chat-name").textContent = group ? row.title : t("chat.bot_name");
  byId("chat-avatar").replaceChildren(group ? avatar(row.title) : h("div", { class: "avatar bot" }));
  const name = nameOf(place.person);
  const role = people.people.get(place.person)?.role;
  const one = h("span", {}, h("b", {}, name), `, ${roleName(role)}`);
  const speaker = group ? [speakerSwitch(row), row.topics?.length > 0 && topicSwitch(row)].filter(Boolean) : [solo ? chatSwitch() : one];
  byId("chat-me").replaceChildren(avatar(name), ...speaker);
}

function chatSwitch() {
  const options = people.chats.map((row) => h("option", { value: row.chat_id, selected: row.chat_id === place.chat }, row.title));
  return h("select", { "aria-label": t("chat.whose"), onchange: (event) => openChat(Number(event.target.value)).catch(complain) }, options);
}

function topicSwitch(row) {
  const topics = [{ thread_id: null, name: t("chat.general") }, ...row.topics];
  const options = topics.map((topic) => h("option", { value: topic.thread_id ?? 0, selected: topic.thread_id === place.thread }, `# ${topic.name}`));
  const choose = (event) => { place.thread = Number(event.target.value) || null; openChat(row.chat_id).catch(complain); };
  return h("select", { "aria-label": t("chat.topic"), onchange: choose }, options);
}

function speakerSwitch(row) {
  const options = row.members.flatMap((id) => [false, true].map((anonymous) => h("option",
    { value: `${id} ${anonymous ? 1 : 0}`, selected: id === place.person && anonymous === place.anonymous },
    anonymous ? t("chat.anonymously", { name: nameOf(id) }) : nameOf(id))));
  const choose = (event) => {
    const [id, anonymous] = event.target.value.split(" ").map(Number);
    Object.assign(place, { person: id, anonymous: anonymous === 1 });
    openChat(row.chat_id).catch(complain);
  };
  return h("select", { "aria-label": t("chat.writer"), onchange: choose }, options);
}

async function send(text, reply) {
  return does("send", { text, ...(reply ? { reply_to: reply } : {}) });
}

// What the person does in the open chat, in whose name and topic is chosen in the head.
async function does(action, body) {
  const around = { chat_id: place.chat, ...(place.anonymous ? { as_chat: "anonymous_admin" } : {}), ...(place.thread ? { thread: place.thread } : {}) };
  return post(`/sandbox/users/${place.person}/${action}`, { ...around, ...body });
}

function listen() {
  const stream = new EventSource("/sandbox/stream");
  let lost = false;
  stream.onmessage = ({ data }) => {
    const event = JSON.parse(data);
    if (event.kind === "reset") return void location.reload();
    people.note(event);
    chat.handle(event);
    if (event.kind === "commands") composer.loadCommands(place.chat).catch(complain);
    if (event.kind === "people") people.load().catch(complain);
    if (event.kind === "message" && event.chat_id === place.chat && event.message.from === "bot") side.hint("chat");
  };
  stream.onerror = () => { lost = true; };
  stream.onopen = () => {
    // Between the first look and the open stream something may have come.
    if (!lost) chat.catchUp().catch(complain);
    if (lost) people.load().then(() => openChat(place.chat)).catch(complain);
    lost = false;
  };
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").replaceChildren(icon(theme === "dark" ? "sun" : "moon", 20));
}

function startTheme() {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const kept = localStorage.getItem("theme");
  setTheme(kept ?? (system.matches ? "dark" : "light"));
  window.addEventListener("storage", ({ key, newValue }) => { if (key === "theme" && newValue) setTheme(newValue); });
  system.addEventListener("change", () => { if (!localStorage.getItem("theme")) setTheme(system.matches ? "dark" : "light"); });
  byId("theme").addEventListener("click", () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("theme", next);
    setTheme(next);
  });
}

// The whole demo goes back to its beginning; every open page is told by the stream and loads anew.
function startRestart() {
  const button = byId("restart");
  button.hidden = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    toast(t("page.restarting"));
    await post("/demo/restart").then(() => location.reload(), complain);
    button.disabled = false;
  });
}

async function start() {
  startTheme();
  await loadTexts();
  fillPage();
  const [config] = await Promise.all([get("/demo/config"), people.load()]);
  setBot(config.bot.username);
  byId("app").toggleAttribute("data-solo", solo);
  await openChat(Number(location.hash.slice(1)) || DEFAULT_CHAT);
  listen();
  startSwitch((next) => (config.supervisor ? post("/demo/language", { language: next }) : Promise.resolve()));
  if (config.supervisor && !solo) {
    startRestart();
    post("/demo/language", { language: language() }).catch(complain);
  }
  if (solo) return void (document.documentElement.dataset.ready = "yes");
  const tour = new Tour(side, {
    become: (person) => (place.chat === person ? undefined : openChat(person)),
    send,
    speak: (words) => does("voice", { words }),
    lastMessage: () => Math.max(0, ...chat.messages.keys()),
    where: () => ({ person: place.person, chat: place.chat }),
  }, config.supervisor);
  await tour.load();
  side.panes = { crm: new Crm(side, config.portal), audit: new Audit(side, config.audit, nameOf), tour, console: new Console(() => place.person, nameOf), second: new Second(LEAD_CHAT) };
  document.querySelector('#tabs [data-tab="console"]').hidden = !config.supervisor;
  side.open(config.portal ? "crm" : "tour");
  side.mark("chat");
  byId("input").focus();
  document.documentElement.dataset.ready = "yes";
}

start().catch(complain);
