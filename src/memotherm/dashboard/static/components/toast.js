// Short messages at the edge of the page, with a button that undoes the change they report.
import { html, useEffect, useState } from "../html.js";

const SECONDS = 20;
let shown = [];
let listener = () => {};
let next = 1;

function show(list) { shown = list; listener(shown); }
function dismiss(id) { show(shown.filter((each) => each.id !== id)); }

// Show a message. `undo` is an asynchronous function; `error` marks a failure, which stays until it is dismissed.
export function toast(text, { undo = null, error = false } = {}) {
  const id = next++;
  show([...shown.slice(-4), { id, text, undo, error }]);
  return id;
}

export function toastError(error) { toast(error.message || String(error), { error: true }); }

function Toast({ id, text, undo, error }) {
  const [busy, setBusy] = useState(false);
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (error || held || busy) return undefined;
    const timer = setTimeout(() => dismiss(id), SECONDS * 1000);
    return () => clearTimeout(timer);
  }, [error, held, busy]);
  const run = async () => {
    setBusy(true);
    try {
      await undo();
      dismiss(id);
      toast(`Undone: ${text}`);
    } catch (problem) {
      dismiss(id);
      toastError(problem);
    }
  };
  return html`<div class=${error ? "toast error" : "toast"} role=${error ? "alert" : undefined}
      onMouseEnter=${() => setHeld(true)} onMouseLeave=${() => setHeld(false)}
      onFocusIn=${() => setHeld(true)} onFocusOut=${() => setHeld(false)}>
    <span>${text}</span>
    ${undo && html`<button type="button" disabled=${busy} onClick=${run}>Undo</button>`}
    <button type="button" class="quiet" aria-label="Dismiss" onClick=${() => dismiss(id)}>×</button>
  </div>`;
}

export function Toasts() {
  const [list, setList] = useState(shown);
  useEffect(() => { listener = setList; return () => { listener = () => {}; }; }, []);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${list.map((each) => html`<${Toast} key=${each.id} ...${each} />`)}
  </div>`;
}
