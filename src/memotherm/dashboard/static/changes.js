// Changes of memories: those that the reader asks for, each with undo, and those of the ledger in words.
import { html, useCallback, useEffect, useRef, useState } from "./vendor/htm-preact.module.js";
import { confirm, Dialog, MemoryLink, Tier, Time, toast } from "./controls.js";
import { clock, dayName, DONE, memories, memories as memoriesText, number, scopeName, shortened, time, titleOf } from "./format.js";
import { parseRoute } from "./route.js";
import { change, formatScope, get, parseScope, post, TIERS, undo, useReconnected, useWritable } from "./server.js";

const AT_ONCE = 4;
export const PRIORITIES = ["pinned", "critical", "important", "normal", "low"];

// id: the route; body: what is sent; done: how the toast begins; fits: for which memories it makes sense.
const isActive = (memory) => memory.retention === "active";
const isProposed = (memory) => memory.retention === "proposed";
export const APPROVE = { name: "Approve", id: "approve", done: "Approved", fits: isProposed };
export const REJECT = { name: "Reject", id: "reject", done: "Rejected", fits: isProposed };
export const CLOSE = { name: "Close", id: "finish", body: { status: "done" }, done: "Closed", fits: isActive };
export const ACTIONS = [
  APPROVE, REJECT,
  { name: "Forget", id: "forget", done: "Forgot", fits: (memory) => memory.retention !== "deleted" && !isProposed(memory) },
  { name: "Restore", id: "restore", done: "Restored", fits: (memory) => !isActive(memory) && !isProposed(memory) },
  { name: "Archive", id: "archive", done: "Archived", fits: isActive },
  { name: "Pin", id: "pin", done: "Pinned", fits: (memory) => isActive(memory) && memory.priority !== "pinned" },
  { name: "Unpin", id: "unpin", done: "Unpinned", fits: (memory) => isActive(memory) && memory.priority === "pinned" },
  ...TIERS.map((tier) => ({
    name: `Move to ${tier}`, id: "move", body: { tier }, done: `Moved to ${tier}`,
    fits: (memory) => isActive(memory) && memory.tier !== tier,
  })),
];
export const PURGE = { name: "Purge", id: "purge", done: "Purged", fits: () => true };
// Changes with a value that the reader chooses.
export const prioritizing = (priority) => ({ name: `Set the priority ${priority}`, id: "prioritize", body: { priority }, done: `Made ${priority}`, fits: (memory) => isActive(memory) && memory.priority !== priority });
export const rescoping = (scope) => ({ name: `Move to ${scopeName(scope)}`, id: "rescope", body: { scope }, done: `Moved to ${scopeName(scope)}:`,
  fits: (memory) => isActive(memory) && memory.scope.tenant === scope.tenant && formatScope(memory.scope) !== formatScope(scope) });
export const editing = (name, done, bodyOf) => ({ name, id: "edit", bodyOf, done, fits: isActive });

// Call a function for each item, a few at once; return the results and the errors, each with its item.
// When `signal` is aborted, the items that have not begun are left out.
async function forEach(items, run, { onProgress = () => {}, signal } = {}) {
  const results = [], errors = [];
  let next = 0;
  const work = async () => {
    while (next < items.length && !signal?.aborted) {
      const item = items[next++];
      try {
        results.push([item, await run(item)]);
      } catch (error) {
        errors.push([item, error]);
      }
      onProgress(results.length + errors.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { results, errors };
}

// Purging cannot be undone: the reader types how many memories it is about, or the word.
async function confirmPurge(chosen) {
  const typed = chosen.length === 1 ? "purge" : `purge ${chosen.length}`;
  return confirm({
    title: `Purge ${memoriesText(chosen.length)}?`, action: "Purge", danger: true, typed,
    text: "The contents, vectors and words are erased permanently, also from the history. This cannot be undone.",
  });
}

async function confirmMany(action, chosen) {
  return confirm({ title: `${action.name}: ${memoriesText(chosen.length)}?`, action: action.name, text: "You can undo it afterwards." });
}

// Apply an action to memories, report it, and return whether anything was changed.
export async function applyAction(action, chosen, { onProgress, signal, onChange = () => {} } = {}) {
  const fitting = chosen.filter(action.fits);
  if (!fitting.length) {
    toast(`${action.name}: it applies to none of the chosen memories.`);
    return false;
  }
  const agreed = action === PURGE ? await confirmPurge(fitting) : fitting.length === 1 || await confirmMany(action, fitting);
  if (!agreed) return false;
  const { results, errors } = await forEach(fitting, (memory) => change(memory, action.id, action.bodyOf ? action.bodyOf(memory) : action.body), { onProgress, signal });
  // A change that was made already has no event of its own.
  const events = results.filter(([memory, after]) => after && after.version !== memory.version).map(([, after]) => after);
  if (results.length) toast(`${action.done} ${memoriesText(results.length)}`, { undo: action === PURGE || !events.length ? null : undoOf(events, onChange) });
  if (errors.length) toast(`${memoriesText(errors.length)} could not be changed: ${errors[0][1].message}`, { error: true });
  onChange();
  return results.length > 0;
}

// Return what a toast calls to undo the changes that led to memories, in one request.
export const undoOf = (changed, onChange) => async () => {
  const { skipped } = await undo(changed.map((after) => after.version));
  onChange();
  if (skipped.length) throw new Error(changed.length === 1 ? skipped[0].why : `${memoriesText(skipped.length)} could not be undone: ${skipped[0].why}`);
};

// Return what a toast calls to undo all that one request has changed.
export const undoRun = (event, onChange) => async () => {
  const { skipped } = await post("/events:undo", { events: [event], run: true, include_narrower: true }, { scope: {} });
  onChange();
  if (skipped.length) throw new Error(`${memoriesText(skipped.length)} could not be undone: ${skipped[0].why}`);
};

// Undo events of the ledger in one request; the toast undoes that.
async function undoEvents(events, onChange = () => {}) {
  const one = events.length === 1;
  if (!one && !await confirm({ title: `Undo ${number(events.length)} changes?`, action: "Undo all", text: "Memories changed again since then are left as they are. You can undo it afterwards." })) return;
  try {
    const { memories, skipped } = await undo(events.map((event) => event.seq));
    const undone = events.length - skipped.length;
    if (undone) toast(`Undone: ${one ? [happened(events[0]), ruleOf(events[0]) && `by the rule ${ruleOf(events[0])}`].filter(Boolean).join(" ") : `${number(undone)} changes`}`, { undo: undoOf(memories, onChange) });
    if (skipped.length) toast(one ? skipped[0].why : `${number(skipped.length)} changes could not be undone: ${skipped[0].why}`, { error: true });
  } catch (error) {
    toast(error.message, { error: true });
  }
  onChange();
}

// Add a memory in the chosen scope.

export const KINDS = ["fact", "rule", "preference", "decision", "task", "message", "entity", "context", "note"];
export const tagsOf = (text) => text.split(",").map((tag) => tag.trim()).filter(Boolean);

// Store what a form says; the toast undoes it. Return the memory.
export async function store(body, onChange = () => {}) {
  const memory = await post("/memories", { source: "dashboard", ...body });
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

// The difference of two texts by words, or by lines if they are long.
const MOST_PARTS = 1500;

function parts(text, pattern) { return text.match(pattern) || []; }

// Return [{kind: "same" | "plus" | "minus", text}] that leads from one text to another.
function difference(before, after) {
  let one = parts(before, /\s+|[^\s]+/g), other = parts(after, /\s+|[^\s]+/g);
  if (one.length > MOST_PARTS || other.length > MOST_PARTS) [one, other] = [parts(before, /[^\n]*\n|[^\n]+/g), parts(after, /[^\n]*\n|[^\n]+/g)];
  if (one.length > MOST_PARTS || other.length > MOST_PARTS) return [{ kind: "minus", text: before }, { kind: "plus", text: after }];
  const lengths = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      lengths[i][j] = one[i] === other[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const found = [];
  const add = (kind, text) => {
    if (found.at(-1)?.kind === kind) found.at(-1).text += text;
    else found.push({ kind, text });
  };
  let i = 0, j = 0;
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && one[i] === other[j]) { add("same", one[i]); i++; j++; }
    else if (j >= other.length || (i < one.length && lengths[i + 1][j] >= lengths[i][j + 1])) add("minus", one[i++]);
    else add("plus", other[j++]);
  }
  return found;
}

// Events of the ledger in words: what was changed, with differences, by whom and why, and the button that undoes it.

const MOST_TEXTS = 500;
// What follows from other changes, or is said in another way.
const UNSAID = new Set(["tier_rule", "content", "tier", "digest", "retention"]);

// Events of policies concern no memory, and have a rollback of their own.
const canUndo = (event) => event.id !== "" && event.action !== "purge";
export const EVENT_KINDS = Object.keys(DONE);
export const done = (action) => DONE[action] ?? action.replaceAll("_", " ");
// A proposal is in no tier and no prompt until somebody approves it.
const isProposal = (event) => event.action === "remember" && event.changes.retention?.to === "proposed";
const happened = (event) => (isProposal(event) ? "Proposed" : done(event.action));

// The texts of memories that events name: each is read once, and those that are shown together in one request.
const texts = new Map();
let batch = null;
async function readBatch(ids) {
  await null;
  batch = null;
  const { memories: found } = await post("/memories:find", { ids, retention: "any", include_narrower: true, limit: ids.length }, { scope: {} });
  return new Map(found.map((memory) => [memory.id, memory.content]));
}
function textOf(id) {
  if (!texts.has(id)) {
    if (!batch || batch.ids.length === MOST_TEXTS) { const ids = []; batch = { ids, read: readBatch(ids) }; }
    batch.ids.push(id);
    texts.set(id, batch.read.then((found) => found.get(id) ?? null, () => { texts.delete(id); return id; }));
  }
  return texts.get(id);
}
export const forgetText = (id) => texts.delete(id);

export function MemoryTitle({ id }) {
  const [text, setText] = useState(undefined);
  useEffect(() => { let current = true; textOf(id).then((found) => current && setText(found)); return () => { current = false; }; }, [id]);
  if (text === null) return html`<span class="hint">a memory that is gone</span>`;
  if (text === undefined) return html`<span class="hint loading">${id}</span>`;
  return html`<${MemoryLink} id=${id}>${titleOf(text)}</${MemoryLink}>`;
}

const Difference = ({ change }) => html`<p class="content diff">${difference(change.from, change.to).map(({ kind, text }) =>
  (kind === "plus" ? html`<ins>${text}</ins>` : kind === "minus" ? html`<del>${text}</del>` : text))}</p>`;

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const short = (value) => {
  const text = value === null || value === undefined ? "nothing" : typeof value === "object" ? JSON.stringify(value) : String(value);
  return MOMENT.test(text) ? time(text) : shortened(text, 80);
};

// Return the id of the memory that has replaced another one by an event; null if the event took that back, undefined if neither.
const successorOf = ({ changes: { metadata } }) => (metadata?.to?.superseded_by === metadata?.from?.superseded_by ? undefined : metadata.to?.superseded_by ?? null);

// Return what an event changed besides what is said in another way, as [name, before, after]; of metadata, the entries that differ.
function changesOf(event) {
  const unsaid = new Set([...UNSAID, "metadata", ...(successorOf(event) === undefined ? [] : ["superseded_by", "valid_until"])]);
  const { from: before, to: after } = event.changes.metadata ?? {};
  const entries = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].map((name) => [name, before?.[name], after?.[name]]);
  return [...Object.entries(event.changes).map(([name, { from, to }]) => [name, from, to]), ...entries]
    .filter(([name, from, to]) => !unsaid.has(name) && JSON.stringify(from) !== JSON.stringify(to) && ((from ?? null) !== null || event.action !== "remember"));
}

// What an event changed: the tier in colour, what has replaced the memory, other fields as before and after.
function Changes({ event }) {
  const tier = isProposal(event) ? null : event.changes.tier;
  const successor = successorOf(event);
  return html`<strong>${happened(event)}</strong>${tier && html`${" "}${tier.from && html`<${Tier} tier=${tier.from} /> → `}${tier.to && html`<${Tier} tier=${tier.to} />`}`}
    ${successor && html`${" "}<span>outdated by <${MemoryTitle} id=${successor} /></span>`}${successor === null && " no longer outdated"}
    ${changesOf(event).map(([name, from, to]) => html`${" "}<span key=${name}>${name} ${short(from)} → ${short(to)}</span>`)}`;
}

// Who did it, by which rule, and why. What took back an event says which one in its reason.
const ruleOf = ({ rule }) => (!rule || rule === "explicit" || rule === "default" || rule.startsWith("undo:") ? "" : rule);
const causes = (why, rules, actor) => [why, rules.length ? `${rules.length > 1 ? "rules" : "rule"} ${rules.join(", ")}` : "", `by ${actor}`].filter(Boolean).join(" · ");
const Cause = ({ event }) => html`<span class="hint">${causes(successorOf(event) ? "" : event.why, [ruleOf(event)].filter(Boolean), event.actor)}</span>`;

const Undo = ({ events, label, onChange }) => {
  const [busy, setBusy] = useState(false);
  const run = () => { setBusy(true); undoEvents(events, onChange).finally(() => setBusy(false)); };
  return html`<button type="button" class="small" disabled=${busy} aria-label=${`Undo ${label}`} onClick=${run}>Undo${events.length > 1 ? " all" : ""}</button>`;
};

// One event; `named` tells whether to say which memory it is about.
export function EventRow({ event, named = true, when = clock(event.at), onChange }) {
  const writable = useWritable();
  const edited = event.changes.content?.from;
  return html`<li class="event"><span class="hint when">${when && html`<${Time} at=${event.at} text=${when} />`}</span>
    <div class="what">${named && event.id && html`<div class="line">${event.action === "purge" ? html`<span class="hint">a memory that was purged</span>` : html`<${MemoryTitle} id=${event.id} />`}</div>`}
      <div><${Changes} event=${event} /> <${Cause} event=${event} /></div>
      ${edited && html`<${Difference} change=${event.changes.content} />`}</div>
    ${writable && canUndo(event) && html`<${Undo} events=${[event]} label=${`event ${event.seq}`} onChange=${onChange} />`}</li>`;
}

// Events that one call made together: a run of the rules, an import, a change of many memories. A partial run has more events.
function RunRow({ events, partial, onChange }) {
  const writable = useWritable();
  const [open, setOpen] = useState(false);
  const rules = [...new Set(events.map(ruleOf).filter(Boolean))];
  const [first] = events;
  const undone = first.action === "undo" ? `${first.why}, and ${number(events.length - 1)} more` : "";
  return html`<li class="event"><span class="hint when"><${Time} at=${first.at} text=${clock(first.at)} /></span>
    <div class="what"><strong>${happened(first)}${happened(first).includes(" ") ? ":" : ""} ${partial ? "more than " : ""}${memories(events.length)}</strong> <span class="hint">${causes(undone, rules, first.actor)}</span></div>
    ${writable && !partial && events.every(canUndo) && html`<${Undo} events=${events} label=${`all: the run of ${memories(events.length)}`} onChange=${onChange} />`}
    <details open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}><summary class="hint">Show each</summary>
      ${open && html`<ol class="plain">${events.map((event) => html`<${EventRow} key=${event.seq} event=${event} when="" onChange=${onChange} />`)}</ol>`}</details></li>`;
}

// Return events, newest first, as runs: those that were made at one moment by one actor in one way.
function runsOf(events) {
  const runs = [];
  for (const event of events) {
    // What a caller did one by one has reasons of its own.
    const key = `${event.at} ${event.actor} ${happened(event)} ${event.rule === "explicit" ? event.why : ""}`;
    if (runs.at(-1)?.key === key) runs.at(-1).events.push(event);
    else runs.push({ key, events: [event] });
  }
  return runs;
}

// Return what was read of the ledger, or the newest of it, as [day, runs]; the last run may go on in what was not read.
export function runsByDay({ events, cursor }, most = Infinity) {
  const runs = runsOf(events);
  if (cursor && runs.length) runs.at(-1).partial = true;
  const days = new Map();
  for (const run of runs.slice(0, most)) {
    const name = dayName(run.events[0].at);
    days.set(name, [...(days.get(name) ?? []), run]);
  }
  return [...days];
}

export const Run = ({ events, partial = false, onChange }) => (events.length > 1 ? html`<${RunRow} events=${events} partial=${partial} onChange=${onChange} />` : html`<${EventRow} event=${events[0]} onChange=${onChange} />`);

// A small page is read, and large ones while there are fewer runs than wanted: a run may be long.
const PAGE = 60, LARGEST = 1000, MOST_PAGES = 5;

// Return what was read of the ledger for a query, at least some runs if there are as many; `read(cursor)` reads more, or begins anew.
export function useLedger(query, runs) {
  const [state, setState] = useState({ events: [], cursor: null, loading: true, error: null });
  const generation = useRef(0);
  const read = useCallback(async (before) => {
    const own = ++generation.current;
    setState((now) => ({ ...now, loading: true, error: null }));
    try {
      let found = before ? state.events : [], cursor = before;
      const wanted = runsOf(found).length + runs;
      for (let pages = 0; pages < MOST_PAGES; pages++) {
        const page = await get("/events", { ...query, include_narrower: true, limit: pages ? LARGEST : PAGE, cursor });
        found = [...found, ...page.events];
        cursor = page.cursor;
        const enough = !cursor || runsOf(found).length > wanted || pages === MOST_PAGES - 1;
        if (own !== generation.current) return;
        setState({ events: found, cursor, loading: !enough, error: null });
        if (enough) return;
      }
    } catch (error) {
      if (own === generation.current) setState((now) => ({ ...now, loading: false, error }));
    }
  }, [JSON.stringify(query), state.events]);
  useEffect(() => { read(null); }, [JSON.stringify(query)]);
  useReconnected(() => read(null));
  return { ...state, read };
}
