// Events of the ledger in words: what was changed, with differences, by whom and why, and the button that undoes it.
import { html, useEffect, useState } from "../html.js";
import { undoEvents } from "../actions.js";
import { post } from "../api.js";
import { difference } from "../diff.js";
import { clock, memories, shortened, titleOf } from "../format.js";
import { useWritable } from "../login.js";
import { MemoryLink, Tier, Time } from "./basics.js";
// Made by the server of the events that it knows.
import { DONE } from "./words.js";

const AT_ONCE = 500;
// What follows from other changes, or is said in another way.
const UNSAID = new Set(["tier_rule", "content", "tier", "digest", "retention"]);

// Events of policies concern no memory, and have a rollback of their own.
const canUndo = (event) => event.id !== "" && event.action !== "purge";
export const ACTIONS = Object.keys(DONE);
export const done = (action) => DONE[action] ?? action.replaceAll("_", " ");

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
    if (!batch || batch.ids.length === AT_ONCE) { const ids = []; batch = { ids, read: readBatch(ids) }; }
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

export const Difference = ({ change }) => html`<p class="content diff">${difference(change.from, change.to).map(({ kind, text }) =>
  (kind === "plus" ? html`<ins>${text}</ins>` : kind === "minus" ? html`<del>${text}</del>` : text))}</p>`;

const short = (value) => {
  const text = value === null || value === undefined ? "nothing" : typeof value === "object" ? JSON.stringify(value) : String(value);
  return shortened(text, 80);
};

// What an event changed: the tier in colour, other fields as before and after.
export function Changes({ event }) {
  const { tier } = event.changes;
  const others = Object.entries(event.changes).filter(([name, { from }]) => !UNSAID.has(name) && (from !== null || event.action !== "remember"));
  return html`<strong>${done(event.action)}</strong>${tier && html`${" "}${tier.from && html`<${Tier} tier=${tier.from} /> → `}${tier.to && html`<${Tier} tier=${tier.to} />`}`}
    ${others.map(([name, { from, to }]) => html`${" "}<span key=${name}>${name} ${short(from)} → ${short(to)}</span>`)}`;
}

// Who did it, by which rule, and why.
const Cause = ({ event }) => html`<span class="hint">${[event.why, event.rule && event.rule !== "explicit" && event.rule !== "default" ? `rule ${event.rule}` : "", `by ${event.actor}`].filter(Boolean).join(" · ")}</span>`;

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
  const rules = [...new Set(events.map((event) => event.rule).filter((rule) => rule && rule !== "explicit" && rule !== "default"))];
  const [first] = events;
  return html`<li class="event"><span class="hint when"><${Time} at=${first.at} text=${clock(first.at)} /></span>
    <div class="what"><strong>${done(first.action)} ${partial ? "more than " : ""}${memories(events.length)}</strong> <span class="hint">${[rules.length ? `rule ${rules.join(", ")}` : "", `by ${first.actor}`].filter(Boolean).join(" · ")}</span></div>
    ${writable && !partial && events.every(canUndo) && html`<${Undo} events=${events} label=${`all: the run of ${memories(events.length)}`} onChange=${onChange} />`}
    <details open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}><summary class="hint">Show each</summary>
      ${open && html`<ol class="plain">${events.map((event) => html`<${EventRow} key=${event.seq} event=${event} when="" onChange=${onChange} />`)}</ol>`}</details></li>`;
}

// Return events, newest first, as runs: those that were made at one moment by one actor in one way.
export function runsOf(events) {
  const runs = [];
  for (const event of events) {
    // What a caller did one by one has reasons of its own.
    const key = `${event.at} ${event.actor} ${event.action} ${event.rule === "explicit" ? event.why : ""}`;
    if (runs.at(-1)?.key === key) runs.at(-1).events.push(event);
    else runs.push({ key, events: [event] });
  }
  return runs;
}

export const Run = ({ events, partial = false, onChange }) => (events.length > 1 ? html`<${RunRow} events=${events} partial=${partial} onChange=${onChange} />` : html`<${EventRow} event=${events[0]} onChange=${onChange} />`);
