// Edit a memory; a change that somebody else has made meanwhile is shown and never overwritten unasked.
import { html, useState } from "../html.js";
import { undoOf } from "../actions.js";
import { change, get } from "../api.js";
import { Dialog } from "./dialog.js";
import { toast } from "./toast.js";

const fieldsOf = (memory) => ({ content: memory.content, kind: memory.kind, tags: memory.tags.join(", ") });
const tagsOf = (text) => text.split(",").map((tag) => tag.trim()).filter(Boolean);

export function Editor({ memory, onClose, onChange }) {
  const [base, setBase] = useState(memory);
  const [fields, setFields] = useState(fieldsOf(memory));
  const [newer, setNewer] = useState(null);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const set = (name) => (event) => setFields({ ...fields, [name]: event.target.value });
  const save = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      const after = await change(base, "edit", { content: fields.content, kind: fields.kind, tags: tagsOf(fields.tags) });
      const changed = after.version !== base.version;
      toast(changed ? "Edited the memory" : "Nothing was changed", { undo: changed ? undoOf(after, onChange) : null });
      onChange();
      onClose();
    } catch (problem) {
      setBusy(false);
      if (problem.status !== 412) { setError(problem.message); return; }
      setNewer(await get(`/memories/${memory.id}`, { include_narrower: true, hidden: true }).catch(() => null));
      setError("Somebody else has changed this memory since you opened it. Nothing was saved.");
    }
  };
  const take = (mine) => { setBase(newer); if (!mine) setFields(fieldsOf(newer)); setNewer(null); setError(""); };
  return html`<${Dialog} title="Edit the memory" onClose=${onClose}>
    <form onSubmit=${save}>
      <label>Content <textarea rows="8" required value=${fields.content} onInput=${set("content")}></textarea></label>
      <label>Kind <input type="text" required pattern="[a-z][a-z0-9_\\-]*" maxlength="32" value=${fields.kind} onInput=${set("kind")} /></label>
      <label>Tags, separated by commas <input type="text" value=${fields.tags} onInput=${set("tags")} /></label>
      <p class="hint error" role="alert">${error}</p>
      ${newer && html`<div class="notice warning"><p>It now says:</p><p class="content">${newer.content}</p>
        <div class="buttons"><button type="button" onClick=${() => take(false)}>Take the newer text</button>
          <button type="button" onClick=${() => take(true)}>Keep mine</button></div></div>`}
      <div class="buttons"><button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" disabled=${busy || newer !== null || !fields.content.trim()}>Save</button></div>
    </form>
  </${Dialog}>`;
}
