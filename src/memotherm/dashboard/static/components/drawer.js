// One memory beside the table it was chosen from. Escape closes it.
import { html, useEffect, useRef } from "../html.js";
import { memoryHref } from "./basics.js";
import { MemoryDetail } from "./memory-detail.js";

export function Drawer({ id, editing, onClose, onChange }) {
  const element = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    if (!editing) element.current.focus();
    const close = (event) => { if (event.key === "Escape" && !document.querySelector("dialog[open]")) { event.preventDefault(); onClose(); } };
    addEventListener("keydown", close);
    return () => { removeEventListener("keydown", close); if (before?.isConnected) before.focus(); };
  }, []);
  return html`<aside class="drawer" ref=${element} tabindex="-1" aria-label="The chosen memory">
    <div class="card-head"><a href=${memoryHref(id)}>Open as a page</a><button type="button" class="quiet" aria-label="Close" onClick=${onClose}>×</button></div>
    <${MemoryDetail} id=${id} editing=${editing} onChange=${onChange} onGone=${onClose} /></aside>`;
}
