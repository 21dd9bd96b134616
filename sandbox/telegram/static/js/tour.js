// The tour: before a scene what it needs is restored; then each step writes, presses or posts for the person, and says what to look at.

import { get, post, postLines } from "./api.js";
import { byId, h, icon } from "./dom.js";
import { language, locale, t } from "./texts.js";

const BUTTON_SECONDS = 45;
const PAUSE = 350;
const ROUNDS = 10;
const STEP = 1000;
const BUTTONS = { approve: /^c1:.*:y$/, deny: /^c1:.*:n$/, choice: /^n1:/ };
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export class Tour {
  // Without a supervisor (the page alone, in tests) scenes begin as they are.
  constructor(side, hooks, supervisor) {
    this.side = side;
    this.hooks = hooks;
    this.supervisor = supervisor;
    this.running = false;
    this.pane = byId("pane-tour");
  }

  shown() {}

  async load() {
    const { tour } = await get(`/demo/tour?language=${language()}`);
    this.stops = tour.map((stop, index) => this.stop(stop, index + 1));
    this.pane.replaceChildren(h("div", { class: "tour" }, h("p", {}, t("tour.intro")), this.stops));
  }

  stop(stop, number) {
    const steps = h("div", { class: "steps" });
    const go = h("button", { class: "go", type: "button" }, t("tour.show"));
    const badge = h("div", { class: "stop-number" }, String(number));
    const card = h("article", { class: "stop", data: { id: stop.id } }, badge, h("h3", {}, stop.title), h("div", { class: "stop-body" }, h("p", {}, stop.description), go, steps));
    go.addEventListener("click", () => this.run(stop, { card, go, steps, badge }));
    return card;
  }

  async run(stop, place) {
    if (this.running) return;
    this.running = true;
    for (const button of this.pane.querySelectorAll(".go")) button.disabled = true;
    place.card.classList.remove("done");
    place.card.classList.add("running");
    place.steps.replaceChildren();
    try {
      if (stop.person) await this.hooks.become(stop.person);
      this.round = 1;
      if (this.supervisor) await this.prepare(stop, place.steps);
      this.since = this.hooks.lastMessage();
      for (const step of stop.steps) await this.step(step, place.steps), await sleep(PAUSE);
      place.card.classList.add("done");
      place.badge.replaceChildren(icon("check", 17));
    } catch (error) {
      place.steps.append(line("bad", "close", error.message));
    } finally {
      place.card.classList.remove("running");
      place.go.textContent = t("tour.again");
      for (const button of this.pane.querySelectorAll(".go")) button.disabled = false;
      this.running = false;
    }
  }

  async prepare(stop, steps) {
    const body = { scene: stop.id, person: stop.person, deals: stop.needs ?? [], reason: t("tour.reason") };
    await this.waitFor(steps, t("tour.preparing"), t("tour.prepared"), async () => { this.round = (await post("/demo/prepare", body)).round; });
  }

  async step(step, steps) {
    if (step.note) return steps.append(h("div", { class: "note" }, step.note));
    if (step.tab) return this.side.open(step.tab, step.filter), this.side.mark(step.tab);
    if (step.post) return this.posted(step, steps);
    if (step.press) return this.press(step.press, steps);
    const [before, after] = step.say ? ["tour.writing", "tour.wrote"] : ["tour.speaking", "tour.spoke"];
    const said = this.fill(step.say ?? step.voice, step.sum);
    const send = () => (step.say ? this.hooks.send(said) : this.hooks.speak(said));
    return this.waitFor(steps, [`${t(before)}: `, h("q", {}, said)], [`${t(after)}: `, h("q", {}, said)], async () => {
      const { message_id: id } = await send();
      this.since = id; // a button of an earlier card is not meant
    });
  }

  // A sum is another one each time the scene is played: the bot remembers what was denied, and says so on the next card.
  fill(words, sum) {
    if (!sum) return words;
    const number = sum + STEP * ((this.round - 1) % ROUNDS);
    return words.replace("{sum}", number.toLocaleString(locale()).replace(/\s/g, " "));
  }

  // Show what is under way, and what was done once it is; a failure takes the line away and goes on to the scene.
  async waitFor(steps, before, after, act) {
    const waiting = h("div", { class: "step" }, h("i", { class: "spin" }), h("span", {}, before));
    steps.append(waiting);
    try {
      await act();
      waiting.replaceWith(line("", "check", after));
    } catch (error) {
      waiting.remove();
      throw error;
    }
  }

  async press(kind, steps) {
    const button = t(`tour.buttons.${kind}`);
    await this.waitFor(steps, [`${t("tour.waiting")} `, h("q", {}, button)], [`${t("tour.pressed")} `, h("q", {}, button)], () => this.pressed(kind));
  }

  async pressed(kind) {
    const { person, chat } = this.hooks.where();
    const until = Date.now() + BUTTON_SECONDS * 1000;
    while (Date.now() < until) {
      const { messages } = await get(`/sandbox/chats/${chat}/messages?after=${this.since}`);
      for (const message of messages.filter((item) => !item.deleted).reverse()) {
        const found = message.buttons.flat().find((button) => BUTTONS[kind].test(button.data ?? ""));
        if (found) return post(`/sandbox/users/${person}/press`, { message_id: message.message_id, data: found.data, chat_id: chat });
      }
      await sleep(PAUSE);
    }
    throw new Error(t("tour.no_button", { seconds: BUTTON_SECONDS, button: t(`tour.buttons.${kind}`) }));
  }

  async posted(step, steps) {
    const { person } = this.hooks.where();
    let waiting = h("div", { class: "step" }, h("i", { class: "spin" }), t("tour.starting"));
    steps.append(waiting);
    let failure = null;
    const finish = () => { waiting.querySelector(".spin")?.replaceWith(icon("check", 16)); };
    await postLines(step.post, { person, words: step.words ?? "" }, (told) => {
      if (told.error) failure = t(`tour.failures.${told.error}`);
      if (!told.code) return;
      finish();
      waiting = h("div", { class: "step" }, h("i", { class: "spin" }), h("span", {}, t(`tour.kill.${told.code}`, told)));
      steps.append(waiting);
    }).catch((error) => { failure = error.message; });
    if (failure) waiting.remove();
    else finish();
    if (failure) throw new Error(failure);
  }
}

function line(kind, iconName, text) {
  return h("div", { class: `step ${kind}` }, icon(iconName, 16), h("span", {}, text));
}
