// Modal dialogs: the element <dialog> keeps the focus inside; Escape or a click beside it closes it.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../html.js";

export function Dialog({ title, titleHidden = false, kind = "", onClose, children }) {
  const element = useRef(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    element.current.showModal();
    return () => { if (before?.isConnected) before.focus(); };
  }, []);
  // A click beside the dialog is one on the dialog itself, outside of its box. What was written is not lost by it.
  const click = ({ target, clientX, clientY }) => {
    const { left, right, top, bottom } = element.current.getBoundingClientRect();
    const beside = clientX < left || clientX > right || clientY < top || clientY > bottom;
    if (target === element.current && beside && ![...target.querySelectorAll("textarea")].some((field) => field.value)) onClose();
  };
  return html`<dialog ref=${element} class=${kind} aria-labelledby="dialog-title" onClose=${onClose} onClick=${click}>
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
