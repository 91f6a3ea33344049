// Memories that disagree: what each says, which one counts meanwhile and why, and the buttons that decide it.
import { html, useState } from "../html.js";
import { undoAllOf } from "../actions.js";
import { change, get, post } from "../api.js";
import { Empty, Loaded, MemoryLink, Time } from "../components/basics.js";
import { toast, toastError } from "../components/toast.js";
import { count, scopeName } from "../format.js";
import { useEvents } from "../live.js";
import { useLoaded } from "../loading.js";
import { useWritable } from "../login.js";

const DELAY_MILLISECONDS = 3000;
const BY = { person: "a person", agent: "an agent", import: "an import", document: "a document", web: "the web" };

const isWithin = (inner, outer) => Object.entries(outer).every(([name, value]) => inner[name] === value);

// A conflict is decided from the narrower scope of its two, which sees both.
async function load() {
  const { conflicts } = await get("/conflicts", { include_narrower: true });
  return conflicts.map((conflict) => ({ ...conflict, key: `${conflict.older.id} ${conflict.newer.id}`, scope: isWithin(conflict.older.scope, conflict.newer.scope) ? conflict.older.scope : conflict.newer.scope }));
}

// The content with the value that differs marked, where it stands in these letters.
function Marked({ text, value }) {
  const at = value ? text.toLowerCase().indexOf(value.toLowerCase()) : -1;
  return at < 0 ? text : html`${text.slice(0, at)}<mark>${text.slice(at, at + value.length)}</mark>${text.slice(at + value.length)}`;
}

function Side({ memory, value, wins, busy, onKeep }) {
  const writable = useWritable();
  return html`<div class="side ${wins ? "wins" : ""}"><p class="content" dir="auto"><${Marked} text=${memory.content} value=${value} /></p>
    <div class="meta"><${Time} at=${memory.updated_at} /><span>by ${BY[memory.trust]}</span><span class="scope">${scopeName(memory.scope)}</span><${MemoryLink} id=${memory.id}>Open</${MemoryLink}></div>
    <div class="buttons">${writable && html`<button type="button" disabled=${busy} aria-label=${`Keep this: ${memory.content.slice(0, 60)}`} onClick=${onKeep}>Keep this</button>`}${wins && html`<span class="badge">counts meanwhile</span>`}</div></div>`;
}

function reasonOf({ older, newer, winner }) {
  if (older.trust === newer.trust) return `The newer one counts meanwhile: both are by ${BY[newer.trust]}.`;
  const [won, lost] = winner === newer.id ? [newer, older] : [older, newer];
  return `The ${won === newer ? "newer" : "older"} one counts meanwhile: ${BY[won.trust]} is trusted more than ${BY[lost.trust]}.`;
}

function Conflict({ conflict, onChange }) {
  const writable = useWritable();
  const [busy, setBusy] = useState(false);
  const { older, newer, values, winner, scope } = conflict;
  const run = async (done, decide) => {
    setBusy(true);
    try {
      toast(done, { undo: undoAllOf(await decide(), onChange) });
      await onChange();
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  };
  const keep = (kept, other) => () => run("Kept one and archived the other", async () => (await post(`/memories/${kept.id}/decide`, { over: [other.id] }, { scope })).memories);
  const both = () => run("Verified both", () => Promise.all([older, newer].map((memory) => change(memory, "verify"))));
  return html`<section class="card conflict" aria-label=${conflict.about}><div class="card-head"><h2>${conflict.about}</h2><span class="hint">${values.every(Boolean) ? `${values[1]} or ${values[0]}` : `one of them says "${values.join("")}"`}</span></div>
    <div class="grid even"><${Side} memory=${newer} value=${values[1]} wins=${winner === newer.id} busy=${busy} onKeep=${keep(newer, older)} />
      <${Side} memory=${older} value=${values[0]} wins=${winner === older.id} busy=${busy} onKeep=${keep(older, newer)} /></div>
    <div class="buttons"><span class="hint grow">${reasonOf(conflict)}</span>${writable && html`<button type="button" disabled=${busy} onClick=${both}>Both hold</button>`}</div></section>`;
}

export function Conflicts() {
  const state = useLoaded(load);
  useEvents(state.reload, { delay: DELAY_MILLISECONDS });
  return html`<${Loaded} state=${state} rows=${6}>${(conflicts) => html`
    ${conflicts.length > 0 && html`<p class="hint" role="status">${count(conflicts.length, "conflict")}. "Keep this" archives the other memory; "Both hold" verifies both, and they are no longer listed.</p>`}
    <div class="grid">${conflicts.map((conflict) => html`<${Conflict} key=${conflict.key} conflict=${conflict} onChange=${state.reload} />`)}</div>
    ${!conflicts.length && html`<${Empty} title="No memories disagree.">A conflict is two memories that say something else about the same thing, such as two ports of one server, of which none has replaced the other.</${Empty}>`}`}</${Loaded}>`;
}
