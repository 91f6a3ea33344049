// One memory beside the table it was chosen from. Escape or a click beside it closes it; the arrow keys go to another row.
import { html, useEffect, useRef } from "../html.js";
import { handleKey } from "../keys.js";
import { memoryHref } from "./basics.js";
import { MemoryDetail } from "./memory-detail.js";

// What a click beside the drawer does something else with.
const CONTROLS = "a, button, input, select, textarea, label, summary, tr[data-index], dialog, .toasts, .popover";

export function Drawer({ id, editing, onClose, onMove, onChange }) {
  const element = useRef(null);
  const newest = useRef(null);
  newest.current = { onClose, onMove };
  useEffect(() => {
    const before = document.activeElement;
    if (!editing) element.current.focus();
    const keys = (event) => {
      const { onClose: close, onMove: move } = newest.current;
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) { event.preventDefault(); close(); }
      if (element.current.contains(event.target)) handleKey(event, { ArrowDown: () => move(1), ArrowUp: () => move(-1) });
    };
    const click = (event) => { if (!element.current.contains(event.target) && !event.target.closest(CONTROLS)) newest.current.onClose(); };
    addEventListener("keydown", keys);
    addEventListener("click", click);
    return () => { removeEventListener("keydown", keys); removeEventListener("click", click); if (before?.isConnected) before.focus(); };
  }, []);
  useEffect(() => { element.current.scrollTop = 0; }, [id]);
  return html`<aside class="drawer" ref=${element} tabindex="-1" aria-label="The chosen memory">
    <div class="card-head"><a href=${memoryHref(id)}>Open as a page</a><button type="button" class="quiet" aria-label="Close" onClick=${onClose}>×</button></div>
    <${MemoryDetail} key=${id} id=${id} editing=${editing} onChange=${onChange} onGone=${onClose} /></aside>`;
}
