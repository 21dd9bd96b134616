// What the form of a definition does in the browser alone: suggestions of a field, and variables put where a person types.
(() => {
  let typed = null;
  document.addEventListener("focusin", (event) => {
    if (event.target.closest(".form-field") && event.target.matches("input, textarea, [contenteditable=true]")) typed = event.target;
  });
  window.sdelkaForm = {
    suggest(id, choices) {
      const list = document.getElementById(id);
      if (!list) return;
      list.replaceChildren(...choices.map(([value, label]) => {
        const option = document.createElement("option");
        option.value = value;
        option.label = label;
        return option;
      }));
    },
    insert(text) {
      if (!typed || !typed.isConnected) return;
      typed.focus();
      document.execCommand("insertText", false, text);  // it can be undone as what is typed
    },
  };
})();
