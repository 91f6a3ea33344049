// One memory: its content with edit in place, where it stands, its history with differences, neighbours and uses. Purge is apart.
import { html, useState } from "../html.js";
import { ACTIONS, applyAction, PRIORITIES, prioritizing, PURGE } from "../actions.js";
import { get, readMemory } from "../api.js";
import { decimal, lastDay, memories, number, percent, time, titleOf, tokens, when } from "../format.js";
import { useKeys } from "../keys.js";
import { useEvents } from "../live.js";
import { useLoaded } from "../loading.js";
import { useLogin, useWritable } from "../login.js";
import { hrefOf } from "../route.js";
import { Empty, Loaded, MemoryLink, ScopeName, Tier, Time } from "./basics.js";
import { Editor } from "./editor.js";
import { EventRow } from "./events.js";

const SHOWN_CHARACTERS = 20_000;
const NEIGHBOURS = 6;

function Content({ text }) {
  const [all, setAll] = useState(text.length <= SHOWN_CHARACTERS);
  return html`<div class="card content memory-content" dir="auto">${all ? text : text.slice(0, SHOWN_CHARACTERS)}</div>
    ${!all && html`<button type="button" onClick=${() => setAll(true)}>Show all ${number(text.length)} characters</button>`}`;
}

function Facts({ memory }) {
  return html`<dl class="facts">
    <dt>Tier</dt><dd><${Tier} tier=${memory.tier} /> since <${Time} at=${memory.tier_since} />${memory.tier_rule && memory.tier_rule !== "default" && memory.tier_rule !== "explicit" && `, by the rule ${memory.tier_rule}`}</dd>
    <dt>Priority</dt><dd>${memory.priority}</dd>
    ${memory.retention !== "active" && html`<dt>Retention</dt><dd>${memory.retention} since <${Time} at=${memory.retention_since} /></dd>`}
    <dt>Scope</dt><dd><${ScopeName} scope=${memory.scope} /></dd>
    <dt>Kind and tags</dt><dd>${[memory.kind, ...memory.tags].join(", ")}</dd>
    <dt>Uses</dt><dd>${memory.access_count ? html`${number(memory.access_count)}, ${number(memory.recent_uses)} of late, last <${Time} at=${memory.accessed_at} />` : "never used"}</dd>
    ${memory.access_count > 0 && html`<dt>Heat</dt><dd>${decimal(memory.heat)}, decayed to ${percent(memory.decay)} since the last use</dd>`}
    <dt>Stored</dt><dd><${Time} at=${memory.created_at} />, from ${memory.source}, ${tokens(memory.tokens)}</dd>
    <dt>Trust</dt><dd>${memory.trust}</dd>
    ${(memory.valid_from || memory.valid_until) && html`<dt>Holds</dt><dd>${[memory.valid_from && `from ${time(memory.valid_from)}`, memory.valid_until && `until ${lastDay(memory.valid_until)}`].filter(Boolean).join(" ")}</dd>`}
    ${memory.metadata.ends && html`<dt>Condition</dt><dd>${memory.metadata.ends.when ? `until ${memory.metadata.ends.when}` : `perhaps until ${memory.metadata.ends.perhaps}: edit it to confirm`}</dd>`}
    ${Array.isArray(memory.metadata.anchors) && html`<dt>About</dt><dd>${memory.metadata.anchors.map((anchor) => (anchor.lines ? `${anchor.path}:${anchor.lines.join("-")}` : anchor.path)).join(", ")}</dd>`}
    ${memory.key && html`<dt>Key</dt><dd>${memory.key}</dd>`}
    ${memory.expires_at && html`<dt>Expires</dt><dd><${Time} at=${memory.expires_at} /></dd>`}
    ${memory.supersedes && html`<dt>Supersedes</dt><dd><${MemoryLink} id=${memory.supersedes} /></dd>`}
    ${Object.keys(memory.metadata).length > 0 && html`<dt>Metadata</dt><dd><code>${JSON.stringify(memory.metadata)}</code></dd>`}
    <dt>Id</dt><dd><code>${memory.id}</code></dd>
  </dl>`;
}

function Actions({ memory, onEdit, onChange }) {
  const run = (action) => applyAction(action, [memory], { onChange });
  const active = memory.retention === "active";
  return html`<div class="buttons actions">
    ${isEditable(memory) && html`<button type="button" class="primary" onClick=${onEdit}>Edit</button>`}
    ${ACTIONS.filter((action) => action.fits(memory)).map((action) => html`<button key=${action.name} type="button" onClick=${() => run(action)}>${action.name}</button>`)}
    ${active && html`<label class="check">Priority <select value=${memory.priority} onChange=${(event) => run(prioritizing(event.target.value))}>
      ${PRIORITIES.map((name) => html`<option key=${name} value=${name} selected=${name === memory.priority}>${name}</option>`)}</select></label>`}
  </div>`;
}

function History({ events, onChange }) {
  return html`<section aria-label="History"><h2>History</h2>
    <ol class="plain dated">${[...events].reverse().map((event) => html`<${EventRow} key=${event.seq} event=${event} named=${false} when=${when(event.at)} onChange=${onChange} />`)}</ol></section>`;
}

function Uses({ id, uses }) {
  const entryOf = (receipt) => [...receipt.included, ...receipt.left_out].find((entry) => entry.id === id);
  const told = (receipt) => { const entry = entryOf(receipt); return entry?.form ? `in the prompt, ${entry.form}, ${tokens(entry.tokens)}: ${entry.reason}` : `left out: ${entry?.reason ?? ""}`; };
  return html`<section aria-label="Uses"><h2>Uses</h2><p><a href=${hrefOf(["prompts"], { receipt: "last", memory: id })}>Why was it (not) in the last prompt?</a></p>
    <h3>In prompts</h3>${uses.injected_count ? html`<p>${number(uses.injected_count)} times, last <${Time} at=${uses.last_injected_at} /></p>` : null}${uses.receipts.length ? html`<ol class="plain rows">${uses.receipts.map((receipt) => html`<li key=${receipt.number}><a href=${hrefOf(["prompts"], { receipt: receipt.number })}>${receipt.query ? titleOf(receipt.query) : "The start of a session"}</a>
      <div class="meta"><${Time} at=${receipt.at} /><span>${told(receipt)}</span></div></li>`)}</ol>` : html`<${Empty} title="No prompt has considered it." />`}
    <h3>Recalled</h3>${uses.recalls.length ? html`<ol class="plain rows">${uses.recalls.map((recall, index) => html`<li key=${index}>${recall.query || "(without a question)"}
      <div class="meta"><${Time} at=${recall.at} /><span>among ${memories(recall.returned)}</span></div></li>`)}</ol>` : html`<${Empty} title="No logged recall has returned it." />`}</section>`;
}

function Neighbours({ memory }) {
  const found = useLoaded(() => get(`/memories/${memory.id}/neighbours`, { limit: NEIGHBOURS }, { scope: memory.scope }), [memory.version]);
  return html`<section aria-label="Neighbours"><h2>Neighbours by meaning</h2><${Loaded} state=${found}>${({ items }) => (items.length
    ? html`<ol class="plain rows">${items.map((item) => html`<li key=${item.id}><${MemoryLink} id=${item.id}>${titleOf(item.content)}</${MemoryLink}>
      <div class="meta"><${Tier} tier=${item.tier} /><span>score ${decimal(item.score)}</span><${ScopeName} scope=${item.scope} /></div></li>`)}</ol>`
    : html`<${Empty} title="Nothing similar is stored." />`)}</${Loaded}></section>`;
}

const isEditable = (memory) => ["active", "proposed"].includes(memory?.retention);

const Purge = ({ memory, onGone }) => html`<details class="card"><summary>Purge this memory</summary>
  <p>Its content, vectors and words are erased permanently, also from the history. Forgetting can be undone; this cannot.</p>
  <button type="button" class="danger" onClick=${async () => { if (await applyAction(PURGE, [memory])) onGone(); }}>Purge</button></details>`;

async function load(id, login) {
  const path = `/memories/${encodeURIComponent(id)}`;
  const memory = await readMemory(id);
  const elsewhere = memory.scope.tenant !== undefined && memory.scope.tenant !== login.scope.tenant;
  if (elsewhere) return { memory, elsewhere, events: [], uses: { recalls: [], receipts: [] } };
  const options = { scope: memory.scope };
  const [{ events }, uses] = await Promise.all([get(`${path}/history`, {}, options), get(`${path}/uses`, {}, options)]);
  return { memory, elsewhere, events, uses };
}

export function MemoryDetail({ id, editing: begun = false, onChange = () => {}, onGone }) {
  const login = useLogin();
  const writable = useWritable();
  const [editing, setEditing] = useState(begun);
  const state = useLoaded(() => load(id, login), [id]);
  useKeys(writable && !state.value?.elsewhere && isEditable(state.value?.memory) ? { e: () => setEditing(true) } : {});
  const changed = () => { state.reload(); onChange(); };
  useEvents(state.reload, { concerns: (event) => event.id === id && event.action !== "purge" });
  return html`<${Loaded} state=${state} rows=${8}>${({ memory, elsewhere, events, uses }) => html`<div class="grid">
    ${elsewhere && html`<div class="notice"><p>This memory belongs to the tenant ${memory.scope.tenant}: run
      <code>memotherm dashboard --tenant ${memory.scope.tenant}</code> to change it or to see its history.</p></div>`}
    <div>${editing ? html`<${Editor} memory=${memory} onClose=${() => setEditing(false)} onChange=${changed} />` : html`<${Content} key=${memory.version} text=${memory.content} />`}
      ${writable && !elsewhere && !editing && html`<${Actions} memory=${memory} onEdit=${() => setEditing(true)} onChange=${changed} />`}</div>
    <section aria-label="Where it stands"><h2 class="hidden">Where it stands</h2><${Facts} memory=${memory} /></section>
    <${History} events=${events} onChange=${changed} />
    ${!elsewhere && html`<${Neighbours} memory=${memory} />`}
    <${Uses} id=${memory.id} uses=${uses} />
    ${writable && !elsewhere && html`<${Purge} memory=${memory} onGone=${onGone} />`}</div>`}</${Loaded}>`;
}
