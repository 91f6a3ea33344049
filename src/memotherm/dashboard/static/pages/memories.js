// All memories in one table: one search, chips for filters, actions on one or many, and a drawer for one memory.
import { html, useEffect, useState } from "../html.js";
import { ACTIONS, applyAction, TIERS } from "../actions.js";
import { Empty, ErrorNotice, memoryHref, ScopeName, Skeleton, Tier, Time } from "../components/basics.js";
import { Bulk } from "../components/bulk.js";
import { Drawer } from "../components/drawer.js";
import { Exports } from "../components/export.js";
import { FilterForm, filtersOf, FILTERS } from "../components/memory-filters.js";
import { useTypedParam } from "../components/filters.js";
import { VirtualTable } from "../components/table.js";
import { Views } from "../components/views.js";
import { toastError } from "../components/toast.js";
import { memories as memoriesText, number, titleOf } from "../format.js";
import { handleKey } from "../keys.js";
import { useEvents } from "../live.js";
import { useWritable } from "../login.js";
import { allRows, useRows } from "../rows.js";
import { hrefOf, setParams } from "../route.js";
import { containing } from "../search.js";

const MOST_CHOSEN = 10_000;
const LONGEST = 300;
const DELAY_MILLISECONDS = 1000;
const FORGET = ACTIONS.find((action) => action.id === "forget");

function Chips({ params }) {
  const [text, change] = useTypedParam("q");
  const given = FILTERS.filter((name) => name !== "tier" && params.get(name));
  return html`<form class="chips" role="search" onSubmit=${(event) => event.preventDefault()}>
    <input class="searchbox" type="search" aria-label="Search memories" placeholder="Search by meaning or words" value=${text} onInput=${change} />
    ${TIERS.map((tier) => html`<button key=${tier} type="button" class="chip" aria-pressed=${params.get("tier") === tier ? "true" : "false"} onClick=${() => setParams({ tier: params.get("tier") === tier ? "" : tier })}><${Tier} tier=${tier} /></button>`)}
    ${given.map((name) => html`<button key=${name} type="button" class="chip" onClick=${() => setParams({ [name]: "" })}><span class="hidden">Remove the filter </span>${name}: ${params.get(name)} ×</button>`)}
    <${FilterForm} params=${params} />
    ${(given.length > 0 || params.get("tier") || params.get("q")) && html`<button type="button" class="link" onClick=${() => setParams(Object.fromEntries([...FILTERS, "q"].map((name) => [name, ""])))}>Clear</button>`}
  </form>`;
}

// Each column that can be sorted has the orders that its heading takes in turn.
const SORTED = { stored: ["newest", "oldest"], uses: ["most_used"], used: ["used"], tokens: ["largest", "smallest"] };
const ASCENDING = new Set(["oldest", "smallest"]);

function Heading({ column, order }) {
  const orders = SORTED[column.name];
  if (!orders) return column.label;
  const next = orders[(orders.indexOf(order) + 1) % orders.length];
  return html`<button type="button" onClick=${() => setParams({ order: next === "newest" ? "" : next })}>${column.label}${orders.includes(order) ? (ASCENDING.has(order) ? " ↑" : " ↓") : ""}</button>`;
}

const facts = (memory) => [memory.kind, ...memory.tags.map((tag) => `#${tag}`), ...(memory.priority === "normal" ? [] : [memory.priority]), ...(memory.retention === "active" ? [] : [memory.retention])];

function columnsOf({ writable, chosen, toggle, order, open }) {
  const columns = [
    ...(writable ? [{ name: "choose", label: html`<span class="hidden">Choose</span>`, cell: (memory) => html`<input type="checkbox"
      aria-label=${`Choose ${titleOf(memory.content, 60)}`} checked=${chosen.has(memory.id)} onChange=${() => toggle(memory)} />` }] : []),
    { name: "content-cell", label: "Memory", cell: (memory) => html`<a class="line" href=${memoryHref(memory.id)} onClick=${(event) => { if (!event.ctrlKey && !event.metaKey) { event.preventDefault(); open(memory); } }}>${titleOf(memory.content, LONGEST) || memory.id}</a>
      <div class="meta line"><${Tier} tier=${memory.tier} /> ${facts(memory).join(" · ")} · <${ScopeName} scope=${memory.scope} /></div>` },
    { name: "uses", label: "Uses", cell: (memory) => number(memory.access_count) },
    { name: "used", label: "Last use", cell: (memory) => html`<${Time} at=${memory.accessed_at} />` },
    { name: "tokens", label: "Tokens", cell: (memory) => number(memory.tokens) },
    { name: "stored", label: "Stored", cell: (memory) => html`<${Time} at=${memory.created_at} />` },
  ];
  return columns.map((column) => ({ ...column, sorted: SORTED[column.name]?.includes(order) ? (ASCENDING.has(order) ? "ascending" : "descending") : undefined }));
}

const found = (rows, text) => {
  if (rows.count === null) return "Counting";
  if (!text) return memoriesText(rows.count);
  return `${rows.count === 1 ? "1 memory contains" : `${number(rows.count)} memories contain`} “${text}”, ${number(rows.near.length)} ${rows.near.length === 1 ? "is" : "are"} similar`;
};

export function Memories({ route }) {
  const writable = useWritable();
  const { params } = route;
  const filters = filtersOf(params), text = params.get("q") || "", order = params.get("order") || "newest";
  const rows = useRows(filters, order, text);
  const count = (rows.count ?? 0) + rows.near.length;
  const [chosen, setChosen] = useState(new Map());
  const [editing, setEditing] = useState(false);
  const opened = params.get("open");
  useEffect(() => setChosen(new Map()), [JSON.stringify(filters), text]);
  useEvents(rows.reload, { delay: DELAY_MILLISECONDS });
  const open = (memory, edit = false) => { setEditing(edit); setParams({ open: memory.id }, { replace: false }); };
  const close = () => { setEditing(false); setParams({ open: "" }, { replace: false }); };
  const moveTo = (step) => {
    const place = Array.from({ length: count }, (_, index) => index).find((index) => rows.row(index)?.id === opened);
    const next = place === undefined ? undefined : rows.row(place + step);
    if (!next) return;
    setEditing(false);
    setParams({ open: next.id });
    document.querySelector(`tr[data-id="${next.id}"]`)?.scrollIntoView({ block: "nearest" });
  };
  const toggle = (memory) => {
    const next = new Map(chosen);
    if (!next.delete(memory.id)) next.set(memory.id, memory);
    setChosen(next);
  };
  const chooseAll = () => allRows(text ? containing(text, filters) : filters, order, MOST_CHOSEN).then((all) => setChosen(new Map(all.map((each) => [each.id, each]))), toastError);
  const keys = (event) => {
    const { index, id } = event.target.dataset || {};
    const memory = index === undefined ? null : rows.row(Number(index));
    // What the row showed when the key was pressed, and nothing else.
    if (memory && memory.id === id && writable) handleKey(event, { " ": () => toggle(memory), Delete: () => applyAction(FORGET, [memory], { onChange: rows.reload }), e: () => open(memory, true) });
  };
  const columns = columnsOf({ writable, chosen, toggle, order, open });
  const classOf = (memory) => `${chosen.has(memory.id) ? "selected" : ""} ${memory.id === opened ? "open" : ""}`;
  return html`<${Chips} params=${params} />
    ${rows.error && html`<${ErrorNotice} error=${rows.error} retry=${rows.reload} />`}
    <div class="row"><p class="hint" role="status">${found(rows, text)}</p>${count > 0 && html`<${Exports} name="memories" rows=${() => allRows(text ? containing(text, filters) : filters, order, MOST_CHOSEN)} />`}<${Views} /></div>
    ${chosen.size > 0 && html`<${Bulk} chosen=${[...chosen.values()]} count=${rows.count ?? 0} most=${MOST_CHOSEN} onAll=${chooseAll} onNone=${() => setChosen(new Map())} onChange=${rows.reload} />`}
    ${rows.count === null && !rows.error && html`<${Skeleton} rows=${10} />`}
    <div onKeyDown=${keys}>${count > 0 && html`<${VirtualTable} caption="Memories" columns=${columns} count=${count} row=${rows.row} onRange=${rows.load} classOf=${classOf}
      header=${(column) => html`<${Heading} column=${column} order=${order} />`} onOpen=${open} />`}</div>
    ${rows.count === 0 && count === 0 && html`<${Empty} title="No memory matches."><a href=${hrefOf(["memories"])}>Show all memories</a>, or those that were
      ${" "}<a href=${hrefOf(["memories"], { retention: "deleted" })}>forgotten</a>. ${writable && "Press n to add one."}</${Empty}>`}
    ${opened && html`<${Drawer} id=${opened} editing=${editing} onClose=${close} onMove=${moveTo} onChange=${rows.reload} />`}`;
}
