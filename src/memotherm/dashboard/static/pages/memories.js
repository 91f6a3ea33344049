// All memories in one table: one search, filters, actions on one or many, and a drawer for one memory.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/htm-preact.module.js";
import { ACTIONS, applyAction, editing, KINDS, PRIORITIES, prioritizing, PURGE, rescoping, tagsOf } from "../changes.js";
import { allRows, Empty, ErrorNotice, Exports, memoryHref, Popover, ScopeName, SelectFilter, Skeleton, TextFilter, Tier, Time, toastError, useTypedParam } from "../controls.js";
import { memories as memoriesText, number, scopeName, titleOf } from "../format.js";
import { handleKey, hrefOf, parseRoute, setParams } from "../route.js";
import { containing, get, post, similar, TIERS, useEvents, useLoaded, useReconnected, useWritable } from "../server.js";
import { MemoryDetail } from "./memory.js";

// Rows of a listing, loaded by the page as they come into view.
const PAGE = 100;
const MOST_PAGES = 40;

// Return {count, isCounted, near, row(index), load(first, last), reload, error} of the memories that match filters, in an order.
// Until it is counted, the count is that of the former filters.
// With a text, these contain it, and the `near` rows after them are similar in meaning.
function useRows(given, order, text = "") {
  const inputs = JSON.stringify([given, order, text]);
  const filters = text ? containing(text, given) : given;
  const [{ count, of }, setCount] = useState({ count: null, of: null });
  const [near, setNear] = useState([]);
  const [error, setError] = useState(null);
  const [, redraw] = useState(0);
  const state = useRef({ pages: new Map(), loading: new Set(), generation: 0, range: [0, PAGE] });
  const fail = (generation) => (problem) => generation === state.current.generation && setError(problem);
  const loadPage = async (number) => {
    const { pages, loading, generation } = state.current;
    if (pages.has(number) || loading.has(number)) return;
    loading.add(number);
    try {
      const found = await post("/memories:find", { ...filters, order, skip: number * PAGE, limit: PAGE, include_narrower: true });
      if (generation !== state.current.generation) return;
      pages.set(number, found.memories);
      // The pages that were not looked at for longest are dropped.
      if (pages.size > MOST_PAGES) pages.delete(pages.keys().next().value);
      redraw((value) => value + 1);
    } catch (problem) {
      fail(generation)(problem);
    } finally {
      loading.delete(number);
    }
  };
  const load = (first, last) => {
    state.current.range = [first, last];
    for (let number = Math.floor(first / PAGE); number <= Math.floor(Math.max(first, last - 1) / PAGE); number++) loadPage(number);
  };
  const reload = () => {
    const before = state.current;
    const generation = before.generation + 1;
    state.current = { pages: new Map(), loading: new Set(), generation, range: before.range };
    setError(null);
    post("/memories:count", { ...filters, include_narrower: true }).then((found) => {
      if (generation === state.current.generation) setCount({ count: found.count, of: inputs });
    }, fail(generation));
    if (text) similar(text, given).then((found) => generation === state.current.generation && setNear(found), fail(generation));
    else setNear([]);
    load(...before.range);
  };
  useEffect(reload, [inputs]);
  useReconnected(reload);
  const row = (index) => (count !== null && index >= count ? near[index - count] : state.current.pages.get(Math.floor(index / PAGE))?.[index % PAGE]);
  return { count, isCounted: of === inputs, near, row, load: (first, last) => load(first, Math.min(last, count ?? last)), reload, error };
}

const ROW_PIXELS = 56;
const MORE_ROWS = 8;

// A table of `count` rows of which only those in view exist in the document. `row(index)` returns a row, or undefined
// while it is loaded; `classOf(row)` its class; `onRange(first, last)` tells which rows are in view. Rows are chosen with the arrow keys;
// a row belongs to its memory, so that the focus does not go to another one when the rows are loaded again.
function VirtualTable({ caption, columns, count, row, onRange, header = (column) => column.label, onOpen = () => {}, classOf = () => "" }) {
  const element = useRef(null);
  const [view, setView] = useState({ first: 0, last: 30 });
  const [active, setActive] = useState(0);
  const measure = () => {
    const box = element.current;
    const first = Math.max(0, Math.floor(box.scrollTop / ROW_PIXELS) - MORE_ROWS);
    const last = Math.min(count, Math.ceil((box.scrollTop + box.clientHeight) / ROW_PIXELS) + MORE_ROWS);
    if (first !== view.first || last !== view.last) setView({ first, last });
  };
  useLayoutEffect(measure, [count]);
  useEffect(() => { onRange(view.first, view.last); }, [view, count]);
  useEffect(() => { if (active >= count) setActive(Math.max(0, count - 1)); }, [count]);
  const move = (index) => {
    const target = Math.min(count - 1, Math.max(0, index));
    setActive(target);
    const box = element.current, top = target * ROW_PIXELS, height = box.clientHeight - 2 * ROW_PIXELS;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top > box.scrollTop + height) box.scrollTop = top - height;
    requestAnimationFrame(() => box.querySelector(`[data-index="${target}"]`)?.focus());
  };
  const keys = (event) => {
    if (event.target.tagName !== "TR") return;
    const page = Math.max(1, Math.floor(element.current.clientHeight / ROW_PIXELS) - 2);
    const steps = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: count - 1 };
    if (event.key in steps) { event.preventDefault(); move(steps[event.key]); }
    if (event.key === "Enter" && row(active)) onOpen(row(active));
  };
  const indexes = Array.from({ length: Math.max(0, Math.min(view.last, count) - view.first) }, (_, offset) => view.first + offset);
  return html`<div class="scroll virtual" ref=${element} onScroll=${measure} onKeyDown=${keys} tabindex="0" role="region" aria-label=${caption}>
    <table aria-rowcount=${count + 1}><caption class="hidden">${caption}</caption>
      <thead><tr aria-rowindex="1">${columns.map((column) => html`<th key=${column.name} scope="col" class=${column.name}
        aria-sort=${column.sorted || undefined}>${header(column)}</th>`)}</tr></thead>
      <tbody>
        <tr class="space" aria-hidden="true" style=${{ height: `${view.first * ROW_PIXELS}px` }}><td></td></tr>
        ${indexes.map((index) => {
          const found = row(index);
          return html`<tr key=${found ? found.id : index} data-index=${index} data-id=${found?.id} aria-rowindex=${index + 2} tabindex=${index === active ? 0 : -1}
              class=${found ? classOf(found) : ""} onFocus=${() => setActive(index)} onClick=${(event) => { if (found && !event.target.closest("a, button, input")) onOpen(found); }}
              aria-busy=${found ? undefined : "true"}>
            ${columns.map((column) => html`<td key=${column.name} class=${column.name}>${found ? column.cell(found) : html`<div class="skeleton"><span></span></div>`}</td>`)}</tr>`;
        })}
        <tr class="space" aria-hidden="true" style=${{ height: `${Math.max(0, count - view.last) * ROW_PIXELS}px` }}><td></td></tr>
      </tbody></table></div>`;
}

// The filters of memories besides the tier, in a form that opens below its button.

const RETENTIONS = [["active", "active"], ["proposed", "proposed"], ["archived", "archived"], ["deleted", "forgotten"], ["any", "any"]];
const ORDERS = [["newest", "newest"], ["oldest", "oldest"], ["updated", "last updated"], ["used", "last used"], ["most_used", "most used"], ["largest", "largest"], ["smallest", "smallest"]];
const FILTERS = ["tier", "kind", "tag", "priority", "retention", "since", "until", "bound", "where"];
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

// What memories can be bound to, each with the metadata that says so. The files themselves are not read here.
const BOUND = [["condition", "a condition that ends it, or may", { ends: { $exists: true } }], ["files", "files", { anchors: { $exists: true } }]];

// The filters of the address as the routes take them.
function filtersOf(params) {
  const given = ["tier", "kind", "priority", "retention", "since", "until"].filter((name) => params.get(name)).map((name) => [name, params.get(name)]);
  const written = params.get("where") || "";
  const [, , bound] = BOUND.find(([name]) => name === params.get("bound")) ?? [];
  const where = { ...(written && !checkWhere(written) ? JSON.parse(written) : {}), ...bound };
  return {
    ...Object.fromEntries(given),
    ...(params.get("tag") ? { tags: [params.get("tag")] } : {}),
    ...(Object.keys(where).length ? { where } : {}),
  };
}

const FACETS = { priority: PRIORITIES, retention: RETENTIONS.map(([name]) => name) };

// Return how many memories each choice of a filter would show, the other filters as they are; the kinds are those that there are.
async function countsOf(given, text) {
  const filters = { ...(text ? containing(text, given) : given), include_narrower: true };
  const counted = async (name, value) => [value, (await post("/memories:count", { ...filters, [name]: value })).count];
  const { kind, ...others } = filters;
  const kinds = post("/memories:kinds", others);
  const found = Object.entries(FACETS).map(async ([name, values]) => [name, new Map(await Promise.all(values.map((value) => counted(name, value))))]);
  return { ...Object.fromEntries(await Promise.all(found)), kind: new Map(Object.entries((await kinds).kinds)) };
}

function FilterForm({ params }) {
  const [open, setOpen] = useState(false);
  const given = filtersOf(params), text = params.get("q") || "";
  const counts = useLoaded(() => (open ? countsOf(given, text) : Promise.resolve({})), [open, JSON.stringify(given), text]);
  const counted = (name, options) => options.map(([value, label]) => { const count = counts.value?.[name]?.get(value); return [value, count === undefined ? label : `${label} (${number(count)})`]; });
  const kinds = [...new Set([...(counts.value?.kind?.keys() ?? []), ...(given.kind ? [given.kind] : [])])];
  return html`<${Popover} button="Filter and sort" label="Filters" onToggle=${setOpen}>
  <${SelectFilter} name="kind" label="Kind" options=${counted("kind", any(kinds))} />
  <${TextFilter} name="tag" label="Tag" />
  <${SelectFilter} name="priority" label="Priority" options=${counted("priority", any(PRIORITIES))} />
  <${SelectFilter} name="retention" label="Retention" options=${counted("retention", RETENTIONS)} fallback="active" />
  <${TextFilter} name="since" label="Stored since" type="date" />
  <${TextFilter} name="until" label="Stored until" type="date" />
  <${SelectFilter} name="bound" label="Bound to" options=${[["", "any"], ...BOUND.map(([name, label]) => [name, label])]} />
  <${TextFilter} name="where" label="Metadata" placeholder='{"status": "open"}' check=${checkWhere} />
  <${SelectFilter} name="order" label="Order" options=${ORDERS} fallback="newest" /></${Popover}>`;
}

// Filters and orders of the table under names of the reader, kept in this browser.

const PLACE = "memotherm.views";
const read = () => { try { return JSON.parse(localStorage.getItem(PLACE)) ?? {}; } catch { return {}; } };

function Views() {
  const [views, setViews] = useState(read);
  const [name, setName] = useState("");
  const store = (changed) => { localStorage.setItem(PLACE, JSON.stringify(changed)); setViews(changed); };
  const save = (event) => {
    event.preventDefault();
    const { params } = parseRoute();
    params.delete("open");
    store({ ...views, [name.trim()]: params.toString() });
    setName("");
  };
  const remove = (gone) => store(Object.fromEntries(Object.entries(views).filter(([each]) => each !== gone)));
  return html`<${Popover} button="Views" label="Saved views">
    ${Object.entries(views).map(([each, query]) => html`<div key=${each} class="row"><a class="grow" href=${`#/memories?${query}`}>${each}</a><button type="button" class="quiet small" aria-label=${`Remove the view ${each}`} onClick=${() => remove(each)}>×</button></div>`)}
    <form class="row" onSubmit=${save}><input type="text" aria-label="Name of the view" placeholder="Save this view as" maxlength="60" value=${name} onInput=${(event) => setName(event.target.value)} /><button type="submit" class="small" disabled=${!name.trim()}>Save</button></form></${Popover}>`;
}

// Actions on the chosen memories. What was done before the reader stops it can be undone like the whole.

function Bulk({ chosen, count, most, onAll, onNone, onChange }) {
  const [progress, setProgress] = useState(0);
  const [tags, setTags] = useState("");
  const running = useRef(null);
  const scopes = useLoaded(() => get("/scopes", {}, { scope: {} }));
  const places = (scopes.value?.scopes ?? []).map(({ scope }) => scope).filter((scope) => !("session" in scope));
  const run = async (action) => {
    running.current = new AbortController();
    const changed = await applyAction(action, chosen, { onProgress: setProgress, signal: running.current.signal, onChange });
    setProgress(0);
    if (changed) onNone();
  };
  const choice = (label, options, actionOf) => html`<select aria-label=${label} value="" disabled=${progress > 0} onChange=${(event) => { const { value } = event.target; event.target.value = ""; if (value) run(actionOf(value)); }}>
    <option value="">${label}</option>${options.map((option) => html`<option key=${option} value=${option}>${option}</option>`)}</select>`;
  const addTags = (event) => {
    event.preventDefault();
    if (tagsOf(tags).length) run(editing("Add tags", "Tagged", (memory) => ({ tags: [...new Set([...memory.tags, ...tagsOf(tags)])] })));
  };
  return html`<div class="notice" role="group" aria-label="Actions on the chosen memories">
    <div class="buttons"><strong>${memoriesText(chosen.length)} chosen</strong>
      ${chosen.length < count && html`<button type="button" class="link" onClick=${onAll}>Choose ${count > most ? `the first ${number(most)}` : `all ${number(count)}`}</button>`}
      <button type="button" class="link" onClick=${onNone}>Choose none</button>
      ${count > most && html`<span class="hint">At most ${number(most)} memories are changed at once: filters choose which.</span>`}</div>
    <div class="buttons">${ACTIONS.filter((action) => chosen.some(action.fits)).map((action) => html`<button key=${action.name} type="button" class="small" disabled=${progress > 0} onClick=${() => run(action)}>${action.name}</button>`)}
      ${choice("Set priority", PRIORITIES, prioritizing)}
      ${choice("Set kind", KINDS, (kind) => editing(`Set the kind ${kind}`, `Made ${kind}`, () => ({ kind })))}
      ${choice("Move to scope", places.map((scope) => scopeName(scope)), (name) => rescoping(places.find((scope) => scopeName(scope) === name)))}
      <form class="row" onSubmit=${addTags}><input type="text" aria-label="Tags to add" placeholder="Add tags" size="10" value=${tags} onInput=${(event) => setTags(event.target.value)} /><button type="submit" class="small" disabled=${progress > 0 || !tags.trim()}>Tag</button></form>
      <${Exports} name="chosen memories" rows=${chosen} />
      <details><summary class="hint">Purge</summary><button type="button" class="small danger" disabled=${progress > 0} onClick=${() => run(PURGE)}>Purge ${memoriesText(chosen.length)}</button></details>
      ${progress > 0 && chosen.length > 1 && html`<progress aria-label="Progress" max=${chosen.length} value=${progress}></progress>
        <span>${number(progress)} of ${number(chosen.length)}</span><button type="button" class="small" onClick=${() => running.current.abort()}>Stop</button>`}</div>
  </div>`;
}

// One memory beside the table it was chosen from. Escape or a click beside it closes it; the arrow keys go to another row.

// What a click beside the drawer does something else with.
const CONTROLS = "a, button, input, select, textarea, label, summary, tr[data-index], dialog, .toasts, .popover";

function Drawer({ id, editing, onClose, onMove, onChange }) {
  const element = useRef(null);
  const newest = useRef(null);
  newest.current = { onClose, onMove };
  useEffect(() => {
    const before = document.activeElement;
    if (!editing) element.current.focus();
    const keys = (event) => {
      const { onClose: close, onMove: move } = newest.current;
      if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]")) { event.preventDefault(); close(); }
      if (element.current.contains(event.target)) handleKey(event, { ArrowDown: () => move(1), ArrowUp: () => move(-1) });
    };
    const click = (event) => { if (!element.current.contains(event.target) && !event.target.closest(CONTROLS)) newest.current.onClose(); };
    addEventListener("keydown", keys);
    addEventListener("click", click);
    return () => { removeEventListener("keydown", keys); removeEventListener("click", click); if (before?.isConnected) before.focus(); };
  }, []);
  useEffect(() => { element.current.scrollTop = 0; }, [id]);
  return html`<aside class="drawer" ref=${element} tabindex="-1" aria-label="The chosen memory">
    <div class="card-head"><a href=${memoryHref(id)}>Open as a page</a><button type="button" class="quiet" aria-label="Close" onClick=${onClose}>×</button></div>
    <${MemoryDetail} key=${id} id=${id} editing=${editing} onChange=${onChange} onGone=${onClose} /></aside>`;
}

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
  if (!rows.isCounted) return "Counting";
  if (!text) return memoriesText(rows.count);
  return `${rows.count === 1 ? "1 memory contains" : `${number(rows.count)} memories contain`} “${text}”, ${number(rows.near.length)} ${rows.near.length === 1 ? "is" : "are"} similar`;
};

export function Memories({ route }) {
  const writable = useWritable();
  const { params } = route;
  const filters = filtersOf(params), text = params.get("q") || "", order = params.get("order") || "newest";
  const rows = useRows(filters, order, text);
  const filtered = text || Object.keys(filters).length > 0;
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
    <div class="row"><p class="hint" role="status">${found(rows, text)}</p>${count > 0 && html`<${Exports} name="memories" rows=${async () => [...await allRows(text ? containing(text, filters) : filters, order), ...rows.near]} />`}<${Views} /></div>
    ${chosen.size > 0 && html`<${Bulk} chosen=${[...chosen.values()]} count=${rows.count ?? 0} most=${MOST_CHOSEN} onAll=${chooseAll} onNone=${() => setChosen(new Map())} onChange=${rows.reload} />`}
    ${rows.count === null && !rows.error && html`<${Skeleton} rows=${10} />`}
    <div onKeyDown=${keys}>${count > 0 && html`<${VirtualTable} caption="Memories" columns=${columns} count=${count} row=${rows.row} onRange=${rows.load} classOf=${classOf}
      header=${(column) => html`<${Heading} column=${column} order=${order} />`} onOpen=${open} />`}</div>
    ${rows.count === 0 && count === 0 && html`<${Empty} title=${filtered ? "No memory matches." : "There are no memories here yet."}>${filtered && html`<a href=${hrefOf(["memories"])}>Show all memories</a>. `}<a href=${hrefOf(["memories"], { retention: "deleted" })}>Show the forgotten ones</a>.${writable && " Press n to add one."}</${Empty}>`}
    ${opened && html`<${Drawer} id=${opened} editing=${editing} onClose=${close} onMove=${moveTo} onChange=${rows.reload} />`}`;
}
