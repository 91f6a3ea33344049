// Proposals: memories that are in no prompt until somebody approves them.
import { html, useState } from "../vendor/htm-preact.module.js";
import { applyAction, APPROVE, MemoryTitle, REJECT } from "../changes.js";
import { allRows, Empty, Exports, Loaded, MemoryLink, PAGE, Pager, ScopeName, Time } from "../controls.js";
import { count, number, shortened, titleOf } from "../format.js";
import { useParam } from "../route.js";
import { post, useEvents, useLoaded, useWritable } from "../server.js";
import { Editor } from "./memory.js";

const LONGEST = 600;

function Proposal({ memory, chosen, onChoose, onChange }) {
  const writable = useWritable();
  const [editing, setEditing] = useState(false);
  const name = titleOf(memory.content, 60);
  const button = (action, style) => html`<button type="button" class="small ${style}" aria-label=${`${action.name} ${name}`} onClick=${() => applyAction(action, [memory], { onChange })}>${action.name}</button>`;
  if (editing) return html`<li><${Editor} memory=${memory} onClose=${() => setEditing(false)} onChange=${onChange} /></li>`;
  return html`<li class="proposal">${writable && html`<input type="checkbox" aria-label=${`Choose ${name}`} checked=${chosen} onChange=${onChoose} />`}
    <div class="grow"><${MemoryLink} id=${memory.id}>${shortened(memory.content, LONGEST)}</${MemoryLink}>
      <div class="meta"><span>${[memory.kind, ...memory.tags.map((tag) => `#${tag}`)].join(" ")}</span><span>source ${memory.source}</span><${Time} at=${memory.created_at} /><${ScopeName} scope=${memory.scope} /></div>
      ${memory.supersedes && html`<div class="meta">replaces <${MemoryTitle} id=${memory.supersedes} /></div>`}</div>
    ${writable && html`<div class="row">${button(APPROVE, "primary")}<button type="button" class="small" aria-label=${`Edit ${name}`} onClick=${() => setEditing(true)}>Edit</button>${button(REJECT, "")}</div>`}</li>`;
}

function Proposals({ listed, waiting, first, onChange }) {
  const writable = useWritable();
  const [ids, setIds] = useState(new Set());
  // What was decided meanwhile is no longer chosen.
  const chosen = listed.filter((memory) => ids.has(memory.id));
  const toggle = (id) => setIds((before) => { const next = new Set(before); if (!next.delete(id)) next.add(id); return next; });
  const all = chosen.length === listed.length;
  const run = (action) => applyAction(action, chosen, { onChange });
  return html`<p class="hint" role="status">${count(waiting, "proposal")} ${waiting === 1 ? "waits" : "wait"}. A rejected one is not proposed or captured again. <${Exports} name="proposals" rows=${() => allRows({ retention: "proposed" }, "newest")} /></p>
    ${writable && html`<div class="buttons"><label class="check"><input type="checkbox" checked=${all} onChange=${() => setIds(new Set(all ? [] : listed.map((memory) => memory.id)))} /> Choose all</label>
      ${[APPROVE, REJECT].map((action) => html`<button key=${action.name} type="button" class="small" disabled=${!chosen.length} onClick=${() => run(action)}>${action.name} ${number(chosen.length)} chosen</button>`)}</div>`}
    <ul class="plain rows">${listed.map((memory) => html`<${Proposal} key=${memory.id} memory=${memory} chosen=${ids.has(memory.id)} onChoose=${() => toggle(memory.id)} onChange=${onChange} />`)}</ul><${Pager} count=${waiting} first=${first} />`;
}

export function Review() {
  const [wanted] = useParam("first", "0");
  const state = useLoaded(async () => {
    const proposed = { retention: "proposed", include_narrower: true };
    const { count: waiting } = await post("/memories:count", proposed);
    const first = Math.max(0, Math.min(Number(wanted) || 0, Math.floor((waiting - 1) / PAGE) * PAGE));
    return { waiting, first, ...await post("/memories:find", { ...proposed, skip: first, limit: PAGE }) };
  }, [wanted]);
  useEvents(state.reload);
  return html`<${Loaded} state=${state} rows=${6}>${({ memories, waiting, first }) => (memories.length
    ? html`<${Proposals} listed=${memories} waiting=${waiting} first=${first} onChange=${state.reload} />`
    : html`<${Empty} title="No proposal waits.">Memories from the sources of the setting <code>propose_sources</code>, such as a model's extractions, are in no prompt until they are approved here.</${Empty}>`)}</${Loaded}>`;
}
