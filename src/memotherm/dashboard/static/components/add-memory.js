// Add a memory in the chosen scope.
import { html, useState } from "../html.js";
import { PRIORITIES, TIERS } from "../actions.js";
import { change, parseScope, post } from "../api.js";
import { scopeName } from "../format.js";
import { parseRoute } from "../route.js";
import { Dialog } from "./dialog.js";
import { toast } from "./toast.js";

export const KINDS = ["fact", "rule", "preference", "decision", "task", "message", "entity", "context", "note"];
export const tagsOf = (text) => text.split(",").map((tag) => tag.trim()).filter(Boolean);

// Store what a form says; the toast undoes it. Return the memory.
export async function store(body, onChange = () => {}) {
  const memory = await post("/memories", body);
  if (memory.status === "skipped") throw new Error(memory.why);
  toast("Stored the memory", { undo: async () => { await change(memory, "forget"); onChange(); } });
  memory.warnings?.forEach((warning) => toast(warning));
  return memory;
}

export function AddMemory({ onClose }) {
  const [fields, setFields] = useState({ content: "", kind: "fact", tags: "", tier: "", priority: "normal" });
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const set = (name) => (event) => setFields({ ...fields, [name]: event.target.value });
  const save = async (event) => {
    event.preventDefault();
    setBusy(true);
    const { content, kind, tags, tier, priority } = fields;
    await store({ content, kind, priority, tags: tagsOf(tags), ...(tier ? { tier } : {}) }).then(onClose, (problem) => { setError(problem.message); setBusy(false); });
  };
  const scope = parseScope(parseRoute().params.get("scope") || "");
  return html`<${Dialog} title="Add a memory" onClose=${onClose}><form onSubmit=${save}>
    <label>Content <textarea rows="5" required value=${fields.content} placeholder="We deploy on Fridays" onInput=${set("content")}></textarea></label>
    <div class="filters">
      <label class="field">Kind <input list="kinds" required pattern="[a-z][a-z0-9_\\-]*" maxlength="32" value=${fields.kind} onInput=${set("kind")} /></label>
      <label class="field">Tier <select value=${fields.tier} onChange=${set("tier")}><option value="">by the rules</option>${TIERS.map((tier) => html`<option key=${tier}>${tier}</option>`)}</select></label>
      <label class="field">Priority <select value=${fields.priority} onChange=${set("priority")}>${PRIORITIES.map((name) => html`<option key=${name} selected=${name === fields.priority}>${name}</option>`)}</select></label>
    </div><datalist id="kinds">${KINDS.map((kind) => html`<option key=${kind} value=${kind} />`)}</datalist>
    <label>Tags, separated by commas <input type="text" value=${fields.tags} onInput=${set("tags")} /></label>
    <p class="hint">It is stored in the scope ${scopeName(scope)}, chosen in the sidebar.</p>
    <p class="hint error" role="alert">${error}</p>
    <div class="buttons"><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class="primary" disabled=${busy || !fields.content.trim()}>Add</button></div>
  </form></${Dialog}>`;
}
