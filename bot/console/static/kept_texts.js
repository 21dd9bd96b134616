// Keeps in this browser what is typed into an editor and not saved, offers it again, and asks before it is left behind.
// The text goes to the server as typing does; here it is kept under the person, what is edited, and this page: two tabs keep two texts.
(() => {
  const PREFIX = "sdelka-text:", EVERY = 400, MOST = 5;
  const tab = Math.random().toString(36).slice(2);
  let box = null, view = null, seen = null, saved = "", lost = 0, failed = false, beside = null, wasConnected = false;

  const slot = () => `${PREFIX}${box.dataset.keep}:${tab}`;
  const text = () => view.state.doc.toString();
  const bytes = (one) => new Blob([one]).size;
  const put = (name, one) => {
    if (isForgetting()) return;
    try {
      localStorage.setItem(name, JSON.stringify({ text: one, at: Date.now() }));
    } catch {
      if (!failed) Quasar.Notify.create({ type: "warning", message: box.dataset.notKept });
      failed = true;
    }
  };
  const read = (name) => {
    try {
      const kept = JSON.parse(localStorage.getItem(name));
      return kept && typeof kept.text === "string" ? kept : null;
    } catch {
      return null;
    }
  };
  const list = () => {
    const own = `${PREFIX}${box.dataset.keep}:`;
    const found = Object.keys(localStorage).filter((name) => name.startsWith(own) && name !== slot());
    const kept = found.map((name) => ({ slot: name, ...read(name) })).filter((one) => one.text !== undefined);
    return kept.sort((a, b) => b.at - a.at);
  };
  const offer = () => {
    const now = text();
    const kept = list().filter((one) => (one.text === now ? localStorage.removeItem(one.slot) : true));
    kept.slice(MOST).forEach((one) => localStorage.removeItem(one.slot));
    const detail = kept.slice(0, MOST).map(({ slot, at }) => ({ slot, at }));
    box.dispatchEvent(new CustomEvent("kept", { detail }));
  };
  const aside = (one) => put(`${slot()}-${Date.now()}`, one);
  const replace = (one) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: one } });

  const isOtherBeside = () => {
    const field = document.querySelector("[data-keep-beside]");
    return field !== null && field.value.trim() !== (beside ?? field.dataset.keepBeside);
  };

  function begin() {
    const found = document.querySelector("[data-keep]");
    const code = found && found.querySelector(".nicegui-codemirror");
    const made = code && typeof mounted_app !== "undefined" && mounted_app && getElement(Number(code.id.slice(1)))?.editor;
    if (!made) return;
    [box, view, saved, seen] = [found, made, made.state.doc.toString(), made.state.doc];
    for (const kind of ["paste", "drop"]) {
      box.addEventListener(kind, (event) => {
        const given = (event.clipboardData || event.dataTransfer)?.getData("text/plain") || "";
        if (bytes(given) + view.state.doc.length < Number(box.dataset.longest)) return;
        event.preventDefault();
        event.stopPropagation();
        Quasar.Notify.create({ type: "negative", message: box.dataset.tooLong });
      }, true);
    }
    offer();
  }

  function look() {
    if (window.socket?.connected) wasConnected = true;
    else if (wasConnected) lost = Date.now();
    if (!view || !view.dom.isConnected) return begin();
    if (view.state.doc === seen && localStorage.getItem(slot()) !== null) return;
    seen = view.state.doc;
    const now = text();
    if (now === saved) localStorage.removeItem(slot());
    else put(slot(), now);
  }

  window.sdelkaTexts = {
    saved(one, other) {
      [saved, beside] = [one, other];
      if (view && text() === saved) localStorage.removeItem(slot());
    },
    // What was new is stored under this name: its page is opened, where what was typed since is offered.
    storedAs(one, keep, address) {
      localStorage.removeItem(slot());
      [saved, seen, box.dataset.keep] = [one, null, keep];
      look();
      this.leave(address);
    },
    leave(address) {
      window.sdelkaCloses = true;
      location.assign(address);
    },
    restore(name) {
      const kept = read(name), now = text();
      if (!kept || !name.startsWith(PREFIX)) return;
      if (now !== saved && now !== kept.text) aside(now);  // it is not saved either
      replace(kept.text);
      put(slot(), kept.text);
      localStorage.removeItem(name);
      seen = view.state.doc;
      offer();
    },
    drop(name) {
      if (name.startsWith(PREFIX)) localStorage.removeItem(name);
      offer();
    },
    setAside(one) {
      aside(one);
      setTimeout(offer, 600);
    },
    showLast() {
      document.querySelector(".trial-wanted, .trial-end")?.scrollIntoView({ block: "nearest" });
    },
    goTo(number) {
      const line = view && number <= view.state.doc.lines ? view.state.doc.line(number) : null;
      if (!line) return;
      view.dispatch({ selection: { anchor: line.from } });
      view.focus();
    },
  };
  document.addEventListener("keydown", () => view || begin(), true);
  setInterval(look, EVERY);
  window.addEventListener("pagehide", () => view && look());
  window.addEventListener("beforeunload", (event) => {
    if (!view || !view.dom.isConnected || Date.now() - lost < 5000 || window.sdelkaCloses || isForgetting()) return;
    look();
    if (text() !== saved || isOtherBeside()) event.preventDefault();
  });
})();
