// Edit a memory where it stands; a change that somebody else has made meanwhile is shown and never overwritten unasked.
import { html, useEffect, useRef, useState } from "../html.js";
import { undoOf } from "../actions.js";
import { change, readMemory } from "../api.js";
import { tagsOf } from "./add-memory.js";
import { toast } from "./toast.js";

const fieldsOf = (memory) => ({ content: memory.content, kind: memory.kind, tags: memory.tags.join(", ") });

export function Editor({ memory, onClose, onChange }) {
  const [base, setBase] = useState(memory);
  const [fields, setFields] = useState(fieldsOf(memory));
  const [newer, setNewer] = useState(null);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const first = useRef(null);
  useEffect(() => first.current.focus(), []);
  const set = (name) => (event) => setFields({ ...fields, [name]: event.target.value });
  const save = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      const after = await change(base, "edit", { content: fields.content, kind: fields.kind, tags: tagsOf(fields.tags) });
      const changed = after.version !== base.version;
      toast(changed ? "Edited the memory" : "Nothing was changed", { undo: changed ? undoOf([after], onChange) : null });
      onChange();
      onClose();
    } catch (problem) {
      setBusy(false);
      if (problem.status !== 412) { setError(problem.message); return; }
      setNewer(await readMemory(memory.id).catch(() => null));
      setError("Somebody else has changed this memory since you opened it. Nothing was saved.");
    }
  };
  const take = (mine) => { setBase(newer); if (!mine) setFields(fieldsOf(newer)); setNewer(null); setError(""); };
  const keys = (event) => {
    // What was written is cancelled first; otherwise the same key closes what the editor is in.
    if (event.key === "Escape") { if (JSON.stringify(fields) !== JSON.stringify(fieldsOf(base))) event.stopPropagation(); onClose(); }
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) save(event);
  };
  const rows = Math.min(20, Math.max(4, fields.content.slice(0, 4000).split("\n").length + fields.content.slice(0, 2000).length / 70));
  return html`<form class="card" aria-label="Edit the memory" onSubmit=${save} onKeyDown=${keys}>
      <label class="field">Content <textarea ref=${first} rows=${Math.round(rows)} required value=${fields.content} onInput=${set("content")}></textarea></label>
      <div class="filters"><label class="field">Kind <input type="text" required pattern="[a-z][a-z0-9_\\-]*" maxlength="32" value=${fields.kind} onInput=${set("kind")} /></label>
        <label class="field grow">Tags, separated by commas <input type="text" value=${fields.tags} onInput=${set("tags")} /></label></div>
      <p class="hint error" role="alert">${error}</p>
      ${newer && html`<div class="notice"><p>It now says:</p><p class="content">${newer.content}</p>
        <div class="buttons"><button type="button" onClick=${() => take(false)}>Take the newer text</button>
          <button type="button" onClick=${() => take(true)}>Keep mine</button></div></div>`}
      <div class="buttons"><button type="submit" class="primary" disabled=${busy || newer !== null || !fields.content.trim()}>Save</button>
        <button type="button" onClick=${onClose}>Cancel</button></div>
    </form>`;
}
