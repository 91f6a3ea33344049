// Modal dialogs: the element <dialog> keeps the focus inside and closes with Escape.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../html.js";

export function Dialog({ title, titleHidden = false, kind = "", onClose, children }) {
  const element = useRef(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    element.current.showModal();
    return () => { if (before?.isConnected) before.focus(); };
  }, []);
  return html`<dialog ref=${element} class=${kind} aria-labelledby="dialog-title" onClose=${onClose} onCancel=${onClose}>
    <h2 id="dialog-title" class=${titleHidden ? "hidden" : ""}>${title}</h2>
    ${children}
  </dialog>`;
}

let present = () => {};

// Ask the reader to confirm, and return whether they did.
//   typed: a word that must be typed first, for what cannot be undone.
//   reason: whether to ask for a reason, which the result then holds as text.
export function confirm({ title, text, action, typed = null, reason = false, danger = false }) {
  return new Promise((resolve) => present({ title, text, action, typed, reason, danger, resolve }));
}

function Confirmation({ title, text, action, typed, reason, danger, resolve }) {
  const [word, setWord] = useState("");
  const [why, setWhy] = useState("");
  const close = (result) => { present(null); resolve(result); };
  const submit = (event) => {
    event.preventDefault();
    if (typed === null || word === typed) close(reason ? { why } : true);
  };
  return html`<${Dialog} title=${title} onClose=${() => close(false)}>
    <form onSubmit=${submit}>
      <p>${text}</p>
      ${reason && html`<label>Reason (kept in the ledger)
        <input type="text" maxlength="1000" value=${why} onInput=${(event) => setWhy(event.target.value)} /></label>`}
      ${typed !== null && html`<label>Type <strong>${typed}</strong> to confirm
        <input type="text" autocomplete="off" spellcheck=${false} value=${word}
          onInput=${(event) => setWord(event.target.value)} /></label>`}
      <div class="buttons">
        <button type="button" onClick=${() => close(false)}>Cancel</button>
        <button type="submit" class=${danger ? "danger" : "primary"} disabled=${typed !== null && word !== typed}>${action}</button>
      </div>
    </form>
  </${Dialog}>`;
}

export function Confirmations() {
  const [asked, setAsked] = useState(null);
  useEffect(() => { present = setAsked; return () => { present = () => {}; }; }, []);
  return asked && html`<${Confirmation} ...${asked} />`;
}
