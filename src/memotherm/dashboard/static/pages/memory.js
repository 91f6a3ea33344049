// One memory: its content with edit in place, where it stands, its history with differences, neighbours and uses. Purge is apart.
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.module.js";
import { ACTIONS, applyAction, EventRow, PRIORITIES, prioritizing, PURGE, tagsOf, undoOf } from "../changes.js";
import { Empty, Loaded, MemoryLink, ScopeName, Tier, Time, toast } from "../controls.js";
import { count, decimal, lastDay, number, percent, time, titleOf, tokens, when } from "../format.js";
import { hrefOf, navigate, useKeys } from "../route.js";
import { change, get, readMemory, useEvents, useLoaded, useLogin, useWritable } from "../server.js";

// Edit a memory where it stands; a change that somebody else has made meanwhile is shown and never overwritten unasked.

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
    <dt>Uses</dt><dd>${memory.access_count ? html`${number(memory.access_count)} in all, ${number(memory.recent_uses)} recent, the last <${Time} at=${memory.accessed_at} />` : "never used"}</dd>
    ${memory.access_count > 0 && html`<dt>Heat</dt><dd>${decimal(memory.heat)}, decayed to ${percent(memory.decay)} since the last use</dd>`}
    <dt>Stored</dt><dd><${Time} at=${memory.created_at} />, source ${memory.source}, ${tokens(memory.tokens)}</dd>
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
    <h3>In prompts</h3>${uses.injected_count ? html`<p>${count(uses.injected_count, "time")}, the last <${Time} at=${uses.last_injected_at} /></p>` : null}${uses.receipts.length ? html`<ol class="plain rows">${uses.receipts.map((receipt) => html`<li key=${receipt.number}><a href=${hrefOf(["prompts"], { receipt: receipt.number })}>${receipt.query ? titleOf(receipt.query) : "The start of a session"}</a>
      <div class="meta"><${Time} at=${receipt.at} /><span>${told(receipt)}</span></div></li>`)}</ol>` : html`<${Empty} title="No prompt has considered it." />`}
    <h3>Recalled</h3>${uses.recalls.length ? html`<ol class="plain rows">${uses.recalls.map((recall, index) => html`<li key=${index}>${recall.query || "(without a question)"}
      <div class="meta"><${Time} at=${recall.at} />${recall.query && html`<span>${recall.returned === 1 ? "the only hit" : `one of ${number(recall.returned)} hits`}</span>`}</div></li>`)}</ol>` : html`<${Empty} title="No logged recall has returned it." />`}</section>`;
}

function Neighbours({ memory }) {
  const found = useLoaded(() => get(`/memories/${memory.id}/neighbours`, { limit: NEIGHBOURS }, { scope: memory.scope }), [memory.version]);
  return html`<section aria-label="Neighbours"><h2>Neighbours by meaning</h2><${Loaded} state=${found}>${({ items }) => (items.length
    ? html`<ol class="plain rows">${items.map((item) => html`<li key=${item.id}><${MemoryLink} id=${item.id}>${titleOf(item.content)}</${MemoryLink}>
      <div class="meta"><${Tier} tier=${item.tier} /><span>relevance ${decimal(item.parts.relevance)}</span><${ScopeName} scope=${item.scope} /></div></li>`)}</ol>`
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

// One memory on a page of its own, which other pages link to.

export const MemoryPage = ({ route }) => html`<p><a href=${hrefOf(["memories"])}>All memories</a></p>
  <${MemoryDetail} id=${route.path[1]} onGone=${() => navigate(["memories"])} />`;
