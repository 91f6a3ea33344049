// One memory: its content, its four axes, its story with undo, its versions, where it was used, and its neighbours.
import { html, useMemo, useState } from "../html.js";
import { ALL_ACTIONS, applyAction, PRIORITIES, undoEvent, undoOf } from "../actions.js";
import { change, get } from "../api.js";
import { Loaded, MemoryLink, ScopeName, Tier, Time } from "../components/basics.js";
import { Editor } from "../components/editor.js";
import { Cause, Changes } from "../components/events.js";
import { Table } from "../components/table.js";
import { toast, toastError } from "../components/toast.js";
import { difference } from "../diff.js";
import { decimal, number, percent, scopeName, shortened, time } from "../format.js";
import { useEvents } from "../live.js";
import { useLoaded } from "../loading.js";
import { hrefOf, navigate } from "../route.js";
import { useLogin, useWritable } from "../login.js";

const SHOWN_CHARACTERS = 20_000;
const NEIGHBOURS = 6;
const LONGEST = 140;

function Content({ text }) {
  const [all, setAll] = useState(text.length <= SHOWN_CHARACTERS);
  return html`<div class="card content" dir="auto">${all ? text : text.slice(0, SHOWN_CHARACTERS)}</div>
    ${!all && html`<button type="button" onClick=${() => setAll(true)}>Show all ${number(text.length)} characters</button>`}`;
}

function Axes({ memory }) {
  return html`<dl class="facts">
    <dt>Tier</dt><dd><${Tier} tier=${memory.tier} />, since <${Time} at=${memory.tier_since} />, by the rule ${memory.tier_rule || "default"}</dd>
    <dt>Priority</dt><dd>${memory.priority}</dd>
    <dt>Retention</dt><dd>${memory.retention}, since <${Time} at=${memory.retention_since} /></dd>
    <dt>Relevance</dt><dd>${decimal(memory.relevance)}; heat ${decimal(memory.heat)}, decay ${percent(memory.decay)}</dd>
    <dt>Scope</dt><dd><${ScopeName} scope=${memory.scope} /></dd>
    <dt>Kind and tags</dt><dd>${[memory.kind, ...memory.tags].join(", ")}</dd>
    ${memory.key && html`<dt>Key</dt><dd>${memory.key}</dd>`}
    <dt>Size</dt><dd>${number(memory.tokens)} tokens</dd>
    <dt>Stored</dt><dd>${time(memory.created_at)}, source ${memory.source}</dd>
    <dt>Uses</dt><dd>${memory.access_count
      ? html`${number(memory.access_count)}, ${number(memory.recent_uses)} of them recently; last <${Time} at=${memory.accessed_at} />` : "never"}</dd>
    ${memory.expires_at && html`<dt>Expires</dt><dd>${time(memory.expires_at)}</dd>`}
    ${memory.supersedes && html`<dt>Supersedes</dt><dd><${MemoryLink} id=${memory.supersedes} /></dd>`}
    ${Object.keys(memory.metadata).length > 0 && html`<dt>Metadata</dt><dd><code>${JSON.stringify(memory.metadata)}</code></dd>`}
  </dl>`;
}

function Actions({ memory, reload }) {
  const [editing, setEditing] = useState(false);
  const run = async (action) => {
    const changed = await applyAction(action, [memory], { onChange: action.id === "purge" ? () => {} : reload });
    if (changed && action.id === "purge") navigate(["memories"]);
  };
  const prioritize = async (event) => {
    try {
      const after = await change(memory, "prioritize", { priority: event.target.value });
      toast(`Set the priority to ${after.priority}`, { undo: undoOf(after, reload) });
    } catch (error) {
      toastError(error);
    }
    reload();
  };
  return html`<div class="buttons">
    <button type="button" class="primary" disabled=${memory.retention !== "active"} onClick=${() => setEditing(true)}>Edit</button>
    ${ALL_ACTIONS.filter((action) => action.fits(memory)).map((action) => html`<button key=${action.name} type="button"
      class=${action.id === "purge" ? "danger" : ""} onClick=${() => run(action)}>${action.name}</button>`)}
    <label class="check">Priority <select value=${memory.priority} disabled=${memory.retention !== "active"} onChange=${prioritize}>
      ${PRIORITIES.map((name) => html`<option key=${name} value=${name} selected=${name === memory.priority}>${name}</option>`)}</select></label>
    ${editing && html`<${Editor} memory=${memory} onClose=${() => setEditing(false)} onChange=${reload} />`}
  </div>`;
}

function Story({ events, writable, reload }) {
  const columns = [
    { name: "seq", label: "Event", number: true, cell: (event) => event.seq },
    { name: "at", label: "When", cell: (event) => time(event.at) },
    { name: "action", label: "What", cell: (event) => html`${event.action}: <${Changes} event=${event} />` },
    { name: "cause", label: "Reason and rule", cell: (event) => html`<${Cause} event=${event} />` },
    ...(writable ? [{ name: "undo", label: "Undo", cell: (event) => html`<button type="button" disabled=${event.action === "remember"}
      aria-label=${`Undo event ${event.seq}`} onClick=${() => undoEvent(event, reload)}>Undo</button>` }] : []),
  ];
  return html`<${Table} caption="The story of this memory" columns=${columns} rows=${[...events].reverse()} />`;
}

function Versions({ events }) {
  const edits = useMemo(() => events.filter((event) => event.changes.content?.from).reverse(), [events]);
  if (!edits.length) return html`<p class="empty">The content was never edited.</p>`;
  return html`${edits.map((event) => html`<details key=${event.seq}><summary>Event ${event.seq}, ${time(event.at)}</summary>
    <p class="content diff">${difference(event.changes.content.from, event.changes.content.to).map(({ kind, text }) =>
      (kind === "plus" ? html`<ins>${text}</ins>` : kind === "minus" ? html`<del>${text}</del>` : text))}</p></details>`)}`;
}

function Uses({ id, uses }) {
  const recalls = [
    { name: "at", label: "When", cell: (recall) => html`<${Time} at=${recall.at} />` },
    { name: "query", label: "Question", cell: (recall) => recall.query || "(without a question)" },
    { name: "returned", label: "Results", number: true, cell: (recall) => number(recall.returned) },
  ];
  const entryOf = (receipt) => [...receipt.included, ...receipt.left_out].find((entry) => entry.id === id);
  const receipts = [
    { name: "at", label: "When", cell: (receipt) => html`<${Time} at=${receipt.at} />` },
    { name: "scope", label: "Where", cell: (receipt) => scopeName(receipt.scope) },
    { name: "query", label: "Question", cell: (receipt) => receipt.query || "(start of a session)" },
    { name: "form", label: "How", cell: (receipt) => { const entry = entryOf(receipt); return entry?.form ? `${entry.form}, ${number(entry.tokens)} tokens` : "left out"; } },
    { name: "reason", label: "Why", cell: (receipt) => entryOf(receipt)?.reason || "" },
  ];
  return html`<p><a href=${hrefOf(["prompts"], { receipt: "last", memory: id })}>Why was it (not) in the last prompt?</a></p>
    <h3>Recalled</h3><${Table} caption="Recalls that returned it" columns=${recalls} rows=${uses.recalls} empty="No logged recall has returned it." />
    <h3>Injected</h3><${Table} caption="Contexts that considered it" columns=${receipts} rows=${uses.receipts.map((each) => ({ ...each, seq: each.number }))}
      empty="No context whose receipt is kept has considered it." />`;
}

function Neighbours({ memory }) {
  const path = `/memories/${memory.id}/neighbours`;
  const found = useLoaded(() => get(path, { limit: NEIGHBOURS }, { scope: memory.scope }), [memory.version]);
  const columns = [
    { name: "content", label: "Memory", cell: (item) => html`<${MemoryLink} id=${item.id}>${shortened(item.content, LONGEST)}</${MemoryLink}>` },
    { name: "tier", label: "Tier", cell: (item) => html`<${Tier} tier=${item.tier} />` },
    { name: "score", label: "Score", number: true, cell: (item) => decimal(item.score) },
  ];
  return html`<${Loaded} state=${found}>${({ items }) => html`<${Table} caption="Neighbours by meaning" columns=${columns} rows=${items} empty="Nothing similar is stored." />`}</${Loaded}>`;
}

export function MemoryPage({ route }) {
  const id = route.path[1];
  const login = useLogin();
  const writable = useWritable();
  const path = `/memories/${encodeURIComponent(id)}`;
  const state = useLoaded(async () => {
    const memory = await get(path, { include_narrower: true, hidden: true }).catch((error) => {
      // A memory of a wider scope is visible, but not inside.
      if (error.status !== 404) throw error;
      return get(path, { hidden: true });
    });
    const elsewhere = memory.scope.tenant !== undefined && memory.scope.tenant !== login.scope.tenant;
    const options = { scope: memory.scope };
    if (elsewhere) return { memory, elsewhere, events: [], uses: { recalls: [], receipts: [] } };
    const [{ events }, uses] = await Promise.all([get(`${path}/history`, {}, options), get(`${path}/uses`, {}, options)]);
    return { memory, elsewhere, events, uses };
  }, [id]);
  useEvents(state.reload, { concerns: (event) => event.id === id });
  return html`<${Loaded} state=${state}>${({ memory, elsewhere, events, uses }) => html`
    ${elsewhere && html`<div class="notice warning"><p>This memory belongs to the tenant ${memory.scope.tenant}: run
      <code>memotherm dashboard --tenant ${memory.scope.tenant}</code> to change it or to see its story.</p></div>`}
    <${Content} text=${memory.content} />
    ${writable && !elsewhere && html`<${Actions} memory=${memory} reload=${state.reload} />`}
    <div class="columns"><section aria-label="Axes"><h2>Where it stands</h2><${Axes} memory=${memory} /></section>
      <section aria-label="Neighbours"><h2>Neighbours by meaning</h2>${!elsewhere && html`<${Neighbours} memory=${memory} />`}</section></div>
    <h2>Story</h2><${Story} events=${events} writable=${writable} reload=${state.reload} />
    <h2>Versions</h2><${Versions} events=${events} />
    <h2>Uses</h2><${Uses} id=${memory.id} uses=${uses} />`}</${Loaded}>`;
}
