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
export function confirm({ title, text, action, typed = null, danger = false }) {
  return new Promise((resolve) => present({ title, text, action, typed, danger, resolve }));
}

function Confirmation({ title, text, action, typed, danger, resolve }) {
  const [word, setWord] = useState("");
  const close = (result) => { present(null); resolve(result); };
  const submit = (event) => {
    event.preventDefault();
    if (typed === null || word === typed) close(true);
  };
  return html`<${Dialog} title=${title} onClose=${() => close(false)}>
    <form onSubmit=${submit}>
      <p>${text}</p>
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
