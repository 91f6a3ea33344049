// All memories in one table: filters and order in the address, actions on one or many, each with undo.
import { html, useEffect, useRef, useState } from "../html.js";
import { ALL_ACTIONS, applyAction, PRIORITIES, TIERS } from "../actions.js";
import { ErrorNotice, memoryHref, MemoryLink, Tier } from "../components/basics.js";
import { Dialog } from "../components/dialog.js";
import { Editor } from "../components/editor.js";
import { SelectFilter, TextFilter } from "../components/filters.js";
import { VirtualTable } from "../components/table.js";
import { toastError } from "../components/toast.js";
import { memories as memoriesText, number, scopeName, shortTime } from "../format.js";
import { useEvents } from "../live.js";
import { allRows, useRows } from "../rows.js";
import { hrefOf, navigate, setParams } from "../route.js";
import { isTyping } from "../keys.js";
import { useWritable } from "../login.js";

const KINDS = ["message", "fact", "decision", "entity", "context", "preference", "task", "note"];
const RETENTIONS = [["active", "active"], ["archived", "archived"], ["deleted", "deleted"], ["any", "any"]];
const ORDERS = [["newest", "newest"], ["oldest", "oldest"], ["updated", "last updated"], ["used", "last used"], ["most_used", "most used"], ["largest", "largest"], ["smallest", "smallest"]];
const MOST_CHOSEN = 10_000;
const LONGEST = 300;
const DELAY_MILLISECONDS = 1000;
const any = (names) => [["", "any"], ...names.map((name) => [name, name])];

const checkWhere = (text) => {
  if (!text.trim()) return "";
  try {
    const value = JSON.parse(text);
    return value && typeof value === "object" && !Array.isArray(value) ? "" : 'Write an object, such as {"status": "open"}.';
  } catch {
    return 'Write JSON, such as {"status": "open"}.';
  }
};

// The filters of the address as the routes take them.
function filtersOf(params) {
  const names = ["tier", "kind", "priority", "retention", "since", "until", "contains"];
  const given = names.filter((name) => params.get(name)).map((name) => [name, params.get(name)]);
  const where = params.get("where") || "";
  return {
    ...Object.fromEntries(given),
    ...(params.get("tag") ? { tags: [params.get("tag")] } : {}),
    ...(where && !checkWhere(where) ? { where: JSON.parse(where) } : {}),
  };
}

function Filters() {
  const names = ["contains", "tier", "kind", "tag", "priority", "retention", "since", "until", "where"];
  const clear = () => setParams(Object.fromEntries(names.map((name) => [name, ""])));
  return html`<form class="filters" role="search" aria-label="Filters" onSubmit=${(event) => event.preventDefault()}>
    <${TextFilter} name="contains" label="Text" type="search" />
    <${SelectFilter} name="tier" label="Tier" options=${any(TIERS)} />
    <${SelectFilter} name="kind" label="Kind" options=${any(KINDS)} />
    <${TextFilter} name="tag" label="Tag" />
    <${SelectFilter} name="priority" label="Priority" options=${any(PRIORITIES)} />
    <${SelectFilter} name="retention" label="Retention" options=${RETENTIONS} fallback="active" />
    <${TextFilter} name="since" label="Since" type="date" />
    <${TextFilter} name="until" label="Until" type="date" />
    <${TextFilter} name="where" label="Metadata" placeholder='{"status": "open"}' check=${checkWhere} />
    <${SelectFilter} name="order" label="Order" options=${ORDERS} fallback="newest" />
    <button type="button" onClick=${clear}>Clear filters</button>
  </form>`;
}

// The actions on the chosen memories. What was done before the reader stops it can be undone like the whole.
function ActionButtons({ chosen, onChange, onDone = () => {} }) {
  const [progress, setProgress] = useState(0);
  const running = useRef(null);
  const run = async (action) => {
    running.current = new AbortController();
    await applyAction(action, chosen, { onProgress: setProgress, signal: running.current.signal, onChange });
    setProgress(0);
    onDone();
  };
  const fitting = ALL_ACTIONS.filter((action) => chosen.some(action.fits));
  return html`${fitting.map((action) => html`<button key=${action.name} type="button" disabled=${progress > 0}
      class=${action.id === "purge" ? "danger" : ""} onClick=${() => run(action)}>${action.name}</button>`)}
    ${progress > 0 && chosen.length > 1 && html`<progress aria-label="Progress" max=${chosen.length} value=${progress}></progress>
      <span>${number(progress)} of ${number(chosen.length)}</span><button type="button" onClick=${() => running.current.abort()}>Stop</button>`}`;
}

function RowActions({ memory, onClose, onEdit, onChange }) {
  return html`<${Dialog} title="Actions" onClose=${onClose}>
    <p class="content">${memory.content.slice(0, LONGEST)}</p>
    <div class="buttons">
      <a href=${memoryHref(memory.id)}>Open</a>
      <button type="button" disabled=${memory.retention !== "active"} onClick=${onEdit}>Edit</button>
      <${ActionButtons} chosen=${[memory]} onChange=${onChange} onDone=${onClose} />
      <button type="button" onClick=${onClose}>Close</button>
    </div></${Dialog}>`;
}

function columnsOf({ writable, chosen, toggle, onActions }) {
  return [
    ...(writable ? [{ name: "choose", label: html`<span class="hidden">Choose</span>`, cell: (memory) => html`<input type="checkbox"
      aria-label=${`Choose ${memory.content.slice(0, 60)}`} checked=${chosen.has(memory.id)} onChange=${() => toggle(memory)} />` }] : []),
    { name: "content-cell", label: "Memory", cell: (memory) => html`<${MemoryLink} id=${memory.id}>${memory.content.slice(0, LONGEST)}</${MemoryLink}>` },
    { name: "tier-cell", label: "Tier", cell: (memory) => html`<${Tier} tier=${memory.tier} />` },
    { name: "kind", label: "Kind", cell: (memory) => memory.kind },
    { name: "priority", label: "Priority", cell: (memory) => memory.priority },
    { name: "tags", label: "Tags", cell: (memory) => memory.tags.join(", ") },
    { name: "scope", label: "Scope", cell: (memory) => scopeName(memory.scope) },
    { name: "number", label: "Tokens", cell: (memory) => number(memory.tokens) },
    { name: "created", label: "Stored", cell: (memory) => shortTime(memory.created_at) },
    ...(writable ? [{ name: "actions", label: html`<span class="hidden">Actions</span>`, cell: (memory) => html`<button type="button"
      aria-label=${`Actions on ${memory.content.slice(0, 60)}`} onClick=${() => onActions(memory)}>⋯</button>` }] : []),
  ];
}

function Chosen({ chosen, setChosen, count, chooseAll, onChange }) {
  if (!chosen.size) return html`<p class="hint">Choose memories with their boxes, or with the space bar.</p>`;
  return html`<div class="buttons" role="group" aria-label="Actions on the chosen memories">
    <strong>${memoriesText(chosen.size)} chosen</strong>
    ${chosen.size < count && html`<button type="button" class="link" onClick=${chooseAll}>Choose ${count > MOST_CHOSEN ? `the first ${number(MOST_CHOSEN)}` : `all ${number(count)}`}</button>`}
    <button type="button" class="link" onClick=${() => setChosen(new Map())}>Choose none</button>
    ${count > MOST_CHOSEN && html`<span class="hint">At most ${number(MOST_CHOSEN)} memories are changed at once: filters choose which.</span>`}
    <${ActionButtons} chosen=${[...chosen.values()]} onChange=${onChange} onDone=${() => setChosen(new Map())} />
  </div>`;
}

export function Memories({ route }) {
  const writable = useWritable();
  const filters = filtersOf(route.params);
  const order = route.params.get("order") || "newest";
  const rows = useRows(filters, order);
  const [chosen, setChosen] = useState(new Map());
  const [dialog, setDialog] = useState(null);
  useEffect(() => setChosen(new Map()), [JSON.stringify(filters)]);
  useEvents(rows.reload, { delay: DELAY_MILLISECONDS });
  const toggle = (memory) => {
    const next = new Map(chosen);
    if (!next.delete(memory.id)) next.set(memory.id, memory);
    setChosen(next);
  };
  const chooseAll = () => allRows(filters, order, MOST_CHOSEN).then((found) => setChosen(new Map(found.map((each) => [each.id, each]))), toastError);
  const keys = (event) => {
    const index = event.target.dataset?.index;
    const memory = index === undefined ? null : rows.row(Number(index));
    if (!memory || !writable || isTyping(event)) return;
    const actions = {
      " ": () => toggle(memory),
      Delete: () => applyAction(ALL_ACTIONS[0], [memory], { onChange: rows.reload }),
      e: () => setDialog({ memory, edit: true }),
    };
    if (!actions[event.key]) return;
    // The key must not be typed into what it opens.
    event.preventDefault();
    actions[event.key]();
  };
  const columns = columnsOf({ writable, chosen, toggle, onActions: (memory) => setDialog({ memory, edit: false }) });
  return html`<${Filters} />
    <p role="status">${rows.count === null ? "Counting…" : `${memoriesText(rows.count)}${rows.count ? "" : " match the filters"}`}</p>
    ${rows.error && html`<${ErrorNotice} error=${rows.error} retry=${rows.reload} />`}
    ${writable && html`<${Chosen} chosen=${chosen} setChosen=${setChosen} count=${rows.count || 0} chooseAll=${chooseAll} onChange=${rows.reload} />`}
    <div onKeyDown=${keys}>${rows.count > 0 && html`<${VirtualTable} caption="Memories" columns=${columns} count=${rows.count} row=${rows.row} onRange=${rows.load}
      isSelected=${(memory) => chosen.has(memory.id)} onOpen=${(memory) => navigate(["memory", memory.id])} />`}</div>
    ${rows.count === 0 && html`<p class="empty">Nothing to show. <a href=${hrefOf(["memories"])}>Show all memories</a>, or those that were
      <a href=${hrefOf(["memories"], { retention: "deleted" })}>forgotten</a>.</p>`}
    ${dialog && !dialog.edit && html`<${RowActions} memory=${dialog.memory} onClose=${() => setDialog(null)}
      onEdit=${() => setDialog({ ...dialog, edit: true })} onChange=${rows.reload} />`}
    ${dialog && dialog.edit && html`<${Editor} memory=${dialog.memory} onClose=${() => setDialog(null)} onChange=${rows.reload} />`}`;
}
