// Keeps in this browser what is typed into the policy and not saved, and offers it again after a reload.
(() => {
  const EVERY = 400;
  let box = null, view = null, seen = null, saved = "";
  const slot = () => `sdelka-policy:${box.dataset.keep}`;
  const text = () => view.state.doc.toString();
  const before = () => `${slot()}:before`;
  const read = (name) => {
    try {
      const kept = JSON.parse(localStorage.getItem(name));
      return kept && typeof kept.text === "string" ? kept : null;
    } catch { return null; }
  };
  const forget = () => localStorage.removeItem(slot());
  function offer(kept) {
    const line = document.createElement("div"), words = document.createElement("span");
    line.className = "policy-kept";
    line.setAttribute("role", "status");
    words.textContent = `${box.dataset.offer} (${new Date(kept.at).toLocaleString()})`;
    const add = (name, act) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", () => { line.remove(); act(); });
      line.append(button);
    };
    line.append(words);
    add(box.dataset.restore, () => { localStorage.removeItem(before()); view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: kept.text } }); });
    add(box.dataset.drop, () => localStorage.removeItem(before()));
    box.prepend(line);
  }
  function begin() {
    const found = document.querySelector(".policy-code[data-keep]"), code = found && found.querySelector(".nicegui-codemirror");
    const made = code && typeof mounted_app !== "undefined" && mounted_app && getElement(Number(code.id.slice(1)))?.editor;
    if (!made) return;
    [box, view, saved, seen] = [found, made, made.state.doc.toString(), made.state.doc];
    const kept = read(slot()) ?? read(before());
    if (!kept || kept.text === saved) return;
    localStorage.setItem(before(), JSON.stringify(kept));  // typing goes on beside it
    offer(kept);
  }
  function look() {
    if (!view || !view.dom.isConnected) return begin();
    if (view.state.doc === seen) return;
    seen = view.state.doc;
    if (text() === saved) forget();
    else try { localStorage.setItem(slot(), JSON.stringify({ text: text(), at: Date.now() })); } catch { /* full: typing goes on */ }
  }
  window.sdelkaPolicy = { saved(one) { saved = one; seen = null; look(); } };
  setInterval(look, EVERY);
  window.addEventListener("pagehide", () => view && look());
  window.addEventListener("beforeunload", (event) => { if (view && view.dom.isConnected && text() !== saved) event.preventDefault(); });
})();
