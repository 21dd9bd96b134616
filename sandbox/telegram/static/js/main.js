// Puts the page together: who looks, which chat is open, the one stream of events.

import { get, post } from "./api.js";
import { Audit } from "./audit.js";
import { Chat } from "./chat.js";
import { Composer } from "./composer.js";
import { Crm } from "./crm.js";
import { byId, h, icon } from "./dom.js";
import { People, ROLES, avatar } from "./people.js";
import { Side } from "./side.js";
import { complain } from "./toasts.js";
import { Tour } from "./tour.js";

const DEFAULT_CHAT = 1007;
const place = { chat: 0, person: 0, bot: { first_name: "Сделка" } };

const nameOf = (who) => (who === "bot" ? place.bot.first_name : people.people.get(Number(who))?.name ?? String(who));
const side = new Side();
const people = new People((chatId) => openChat(chatId).then(() => side.mark("chat")).catch(complain));
const composer = new Composer({ send: (text, reply) => send(text, reply).catch(complain), nameOf });
const chat = new Chat({
  nameOf,
  send: (text) => send(text).catch(complain),
  answer: (message) => composer.setReply(message),
  forceReply: (message, placeholder) => composer.setReply(message, placeholder),
  idleStatus: () => (place.chat > 0 ? "бот" : "группа"),
});

async function openChat(chatId) {
  const row = people.chats.find((item) => item.chat_id === chatId) ?? people.chats[0];
  place.chat = row.chat_id;
  place.person = row.members.includes(place.person) ? place.person : row.members[0];
  history.replaceState(null, "", `#${place.chat}`);
  people.select(place.chat);
  composer.reset();
  drawHead(row);
  await Promise.all([chat.open(place.chat, place.person), composer.loadCommands(place.chat)]);
}

function drawHead(row) {
  const group = row.chat_id < 0;
  byId("chat-name").textContent = group ? row.title : place.bot.first_name;
  const name = nameOf(place.person);
  const role = people.people.get(place.person)?.role;
  const speaker = group ? speakerSwitch(row) : h("span", {}, h("b", {}, name), `, ${ROLES[role] ?? role}`);
  byId("chat-me").replaceChildren(avatar(name), speaker);
}

function speakerSwitch(row) {
  const options = row.members.map((id) => h("option", { value: id, selected: id === place.person }, nameOf(id)));
  return h("select", { "aria-label": "Кто пишет", onchange: (event) => { place.person = Number(event.target.value); openChat(row.chat_id).catch(complain); } }, options);
}

async function send(text, reply) {
  const body = { text, chat_id: place.chat, ...(reply ? { reply_to: reply } : {}) };
  return post(`/sandbox/users/${place.person}/send`, body);
}

function listen() {
  const stream = new EventSource("/sandbox/stream");
  let lost = false;
  stream.onmessage = ({ data }) => {
    const event = JSON.parse(data);
    people.note(event);
    chat.handle(event);
    if (event.kind === "commands") composer.loadCommands(place.chat).catch(complain);
    if (event.kind === "people") people.load().catch(complain);
    if (event.kind === "message" && event.chat_id === place.chat && event.message.from === "bot") side.hint("chat");
  };
  stream.onerror = () => { lost = true; };
  stream.onopen = () => {
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
  system.addEventListener("change", () => { if (!localStorage.getItem("theme")) setTheme(system.matches ? "dark" : "light"); });
  byId("theme").addEventListener("click", () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("theme", next);
    setTheme(next);
  });
}

async function start() {
  startTheme();
  const [config] = await Promise.all([get("/demo/config"), people.load()]);
  place.bot = config.bot;
  await openChat(Number(location.hash.slice(1)) || DEFAULT_CHAT);
  listen();
  const tour = new Tour(side, {
    become: (person) => (place.chat === person ? undefined : openChat(person)),
    send,
    lastMessage: () => Math.max(0, ...chat.messages.keys()),
    where: () => ({ person: place.person, chat: place.chat }),
  });
  await tour.load();
  side.panes = { crm: new Crm(side, config.portal), audit: new Audit(side, config.audit, nameOf), tour };
  side.open(config.portal ? "crm" : "tour");
  side.mark("chat");
  byId("input").focus();
  document.documentElement.dataset.ready = "yes";
}

start().catch(complain);
