// The tour: each stop writes, presses and posts for the person, and says what to look at.

import { get, post, postLines } from "./api.js";
import { byId, h, icon } from "./dom.js";

const BUTTON_SECONDS = 45;
const PAUSE = 350;
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export class Tour {
  constructor(side, hooks) {
    this.side = side;
    this.hooks = hooks;
    this.running = false;
    this.pane = byId("pane-tour");
  }

  shown() {}

  async load() {
    const { tour } = await get("/demo/tour");
    this.stops = tour.map((stop, index) => this.stop(stop, index + 1));
    this.pane.replaceChildren(h("div", { class: "tour" }, h("p", {}, "Шесть коротких сцен. Кнопка пишет боту за человека — дальше всё по-настоящему: тот же бот, тот же шлюз, та же CRM."), this.stops));
  }

  stop(stop, number) {
    const steps = h("div", { class: "steps" });
    const go = h("button", { class: "go", type: "button" }, "Показать");
    const badge = h("div", { class: "stop-number" }, String(number));
    const card = h("article", { class: "stop", data: { id: stop.id } }, badge, h("h3", {}, stop.title), h("div", { class: "stop-body" }, h("p", {}, stop.description), go, steps));
    go.addEventListener("click", () => this.run(stop, { card, go, steps, badge }));
    return card;
  }

  async run(stop, place) {
    if (this.running) return;
    this.running = true;
    for (const button of this.pane.querySelectorAll(".go")) button.disabled = true;
    place.card.classList.add("running");
    place.steps.replaceChildren();
    try {
      if (stop.person) await this.hooks.become(stop.person);
      this.since = this.hooks.lastMessage();
      for (const step of stop.steps) await this.step(step, place.steps), await sleep(PAUSE);
      place.card.classList.add("done");
      place.badge.replaceChildren(icon("check", 17));
    } catch (error) {
      place.steps.append(line("bad", "close", error.message));
    } finally {
      place.card.classList.remove("running");
      place.go.textContent = "Ещё раз";
      for (const button of this.pane.querySelectorAll(".go")) button.disabled = false;
      this.running = false;
    }
  }

  async step(step, steps) {
    if (step.note) return steps.append(h("div", { class: "note" }, step.note));
    if (step.tab) return this.side.open(step.tab, step.filter), this.side.mark(step.tab);
    if (step.post) return this.posted(step.post, steps);
    const waiting = h("div", { class: "step" }, h("i", { class: "spin" }), step.say ? ["Пишем: ", h("q", {}, step.say)] : ["Ждём кнопку ", h("q", {}, step.press)]);
    steps.append(waiting);
    try {
      if (step.say) await this.hooks.send(step.say);
      else await this.press(step.press);
      waiting.replaceWith(line("", "check", step.say ? ["Написали: ", h("q", {}, step.say)] : ["Нажали ", h("q", {}, step.press)]));
    } catch (error) {
      waiting.remove();
      throw error;
    }
    return undefined;
  }

  async press(text) {
    const { person, chat } = this.hooks.where();
    const until = Date.now() + BUTTON_SECONDS * 1000;
    while (Date.now() < until) {
      const { messages } = await get(`/sandbox/chats/${chat}/messages?after=${this.since}`);
      const found = messages.findLast((message) => message.buttons.flat().some((button) => fits(button.text, text)) && !message.deleted);
      if (found) return post(`/sandbox/users/${person}/press`, { message_id: found.message_id, text, chat_id: chat });
      await sleep(PAUSE);
    }
    throw new Error(`За ${BUTTON_SECONDS} секунд кнопка «${text}» не появилась`);
  }

  async posted(path, steps) {
    const { person, chat } = this.hooks.where();
    let waiting = h("div", { class: "step" }, h("i", { class: "spin" }), "Начинаем…");
    steps.append(waiting);
    let failure = null;
    const finish = () => { waiting.querySelector(".spin")?.replaceWith(icon("check", 16)); };
    await postLines(path, { person, chat_id: chat }, (told) => {
      if (told.error) failure = told.error;
      if (!told.text) return;
      finish();
      waiting = h("div", { class: "step" }, h("i", { class: "spin" }), told.text);
      steps.append(waiting);
    }).catch((error) => { failure = error.message; });
    if (failure) waiting.remove();
    else finish();
    if (failure) throw new Error(failure);
  }
}

const fits = (shown, wanted) => shown === wanted || shown.split(" ").slice(1).join(" ") === wanted;

function line(kind, iconName, text) {
  return h("div", { class: `step ${kind}` }, icon(iconName, 16), h("span", {}, text));
}
