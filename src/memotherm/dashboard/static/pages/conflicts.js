// Memories that disagree: what each says, which one counts meanwhile and why, and the buttons and keys that decide it.
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.module.js";
import { undoOf } from "../changes.js";
import { Empty, Exports, Loaded, MemoryLink, PAGE, Pager, ScopeName, Time, toast, toastError } from "../controls.js";
import { count, titleOf } from "../format.js";
import { useKeys, useParam } from "../route.js";
import { change, get, post, useEvents, useLoaded, useWritable } from "../server.js";

// The most conflicts of a request, and how many behind the page are counted.
const DELAY_MILLISECONDS = 3000, MOST = 1000, COUNTED = 50;
// The server is asked again after this many times as long as it took before, so that it has time for others.
const PAUSE = 20;

const isWithin = (inner, outer) => Object.entries(outer).every(([name, value]) => inner[name] === value);

// A conflict is decided from the narrower scope of its two, which sees both.
async function load(first) {
  const begun = performance.now();
  const most = Math.min(MOST - 1, first + PAGE + COUNTED);
  const { conflicts } = await get("/conflicts", { include_narrower: true, limit: most + 1 });
  const listed = conflicts.slice(0, most).map((conflict) => ({ ...conflict, key: `${conflict.older.id} ${conflict.newer.id}`, scope: isWithin(conflict.older.scope, conflict.newer.scope) ? conflict.older.scope : conflict.newer.scope }));
  return { listed, more: conflicts.length > most, begun, milliseconds: performance.now() - begun };
}

// The content with the value that differs marked, where it stands in these letters.
function Marked({ text, value }) {
  const at = value ? text.toLowerCase().indexOf(value.toLowerCase()) : -1;
  return at < 0 ? text : html`${text.slice(0, at)}<mark>${text.slice(at, at + value.length)}</mark>${text.slice(at + value.length)}`;
}

function Side({ memory, value, counts, busy, shortcut, onKeep }) {
  const writable = useWritable();
  return html`<div class="side ${counts ? "wins" : ""}"><p class="content" dir="auto"><${Marked} text=${memory.content} value=${value} /></p>
    <div class="meta"><${Time} at=${memory.updated_at} /><${ScopeName} scope=${memory.scope} /><${MemoryLink} id=${memory.id}>Open</${MemoryLink}></div>
    <div class="buttons">${writable && html`<button type="button" disabled=${busy} aria-label=${`Keep this ${shortcut ?? ""}: ${titleOf(memory.content, 60)}`} onClick=${onKeep}>Keep this${shortcut && html` <kbd>${shortcut}</kbd>`}</button>`}${counts && html`<span class="badge">counts meanwhile</span> <span class="hint">${counts}</span>`}</div></div>`;
}

// What decides a conflict, by its key: the memories that it changes, what it says when done, and what it hides from the list.
const KEPT = { archived: "Kept one and archived the other", proposed: "Proposed: the other one is archived when a person approves it" };
const keep = (kept, other) => ({ done: ([decided]) => KEPT[decided.retention], hides: other.id, run: async ({ scope }) => (await post(`/memories/${kept.id}/decide`, { over: [other.id] }, { scope })).memories });
const decisionsOf = ({ older, newer, key }) => ({
  1: keep(newer, older),
  2: keep(older, newer),
  b: { done: () => "Verified both", hides: key, run: () => Promise.all([older, newer].map((memory) => change(memory, "verify"))) },
});

function Conflict({ conflict, current, busy, onDecide }) {
  const writable = useWritable();
  const card = useRef(null);
  useEffect(() => current && card.current.scrollIntoView({ block: "nearest" }), [current]);
  const { older, newer, values, winner, why } = conflict;
  const shortcut = (key) => (current ? key : null);
  return html`<article ref=${card} class="card conflict" aria-label=${conflict.about} aria-current=${current ? "true" : null}><div class="card-head"><h2>${conflict.about}</h2><span class="hint">${values.every(Boolean) ? `${values[1]} or ${values[0]}` : `one of them says "${values.join("")}"`}</span></div>
    <div class="grid even"><${Side} memory=${newer} value=${values[1]} counts=${winner === newer.id && why} busy=${busy} shortcut=${shortcut("1")} onKeep=${() => onDecide("1")} />
      <${Side} memory=${older} value=${values[0]} counts=${winner === older.id && why} busy=${busy} shortcut=${shortcut("2")} onKeep=${() => onDecide("2")} /></div>
    <div class="buttons"><span class="grow"></span>${writable && html`<button type="button" disabled=${busy} onClick=${() => onDecide("b")}>Both hold${current && html` <kbd>b</kbd>`}</button>`}</div></article>`;
}

export function Conflicts() {
  const [wanted] = useParam("first", "0");
  const state = useLoaded(() => load(Number(wanted) || 0), [wanted]);
  const writable = useWritable();
  const [hidden, setHidden] = useState([]);
  const [chosen, setChosen] = useState({ key: null, place: 0 });
  const [busy, setBusy] = useState(false);
  const newest = useRef(null);
  newest.current = state.value;
  // What was decided before the list was asked for is not in it.
  useEffect(() => setHidden((before) => before.filter(({ at }) => at > (state.value?.begun ?? 0))), [state.value]);
  useEvents(state.reload, { delay: Math.max(DELAY_MILLISECONDS, PAUSE * (state.value?.milliseconds ?? 0)) });
  const all = (state.value?.listed ?? []).filter(({ key, older, newer }) => !hidden.some(({ what }) => [key, older.id, newer.id].includes(what)));
  // What was decided makes room for what follows.
  const first = Math.max(0, Math.min(Number(wanted) || 0, Math.floor((all.length - 1) / PAGE) * PAGE));
  const conflicts = all.slice(first, first + PAGE);
  // The frame stays at its conflict when others come before it, and goes to the next one when it was decided.
  const found = conflicts.findIndex(({ key }) => key === chosen.key);
  const at = found >= 0 ? found : Math.max(0, Math.min(chosen.place, conflicts.length - 1));
  const choose = (index) => { const place = Math.max(0, Math.min(index, conflicts.length - 1)); setChosen({ key: conflicts[place]?.key ?? null, place }); };
  useEffect(() => { if (found !== chosen.place) choose(at); }, [found, chosen.place]);
  const decide = async (conflict, key) => {
    const { done, hides, run } = decisionsOf(conflict)[key];
    const compared = state.value;
    const show = () => {
      setHidden((before) => before.filter(({ what }) => what !== hides));
      // A list that was loaded since may not have it.
      if (newest.current !== compared) state.reload();
    };
    setBusy(true);
    try {
      const changed = await run(conflict);
      setHidden((before) => [...before, { what: hides, at: performance.now() }]);
      toast(done(changed), { undo: undoOf(changed, show) });
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  };
  const decideCurrent = (key) => () => conflicts.length && writable && !busy && decide(conflicts[at], key);
  useKeys({ j: () => choose(at + 1), k: () => choose(at - 1), 1: decideCurrent("1"), 2: decideCurrent("2"), b: decideCurrent("b") });
  return html`<${Loaded} state=${state} rows=${6}>${() => html`
    ${conflicts.length > 0 && html`<p class="hint" role="status">${state.value.more ? "More than " : ""}${count(all.length, "conflict")}. "Keep this" archives the other memory; "Both hold" verifies both, and they are no longer listed. <span class="keys">Keys: <kbd>j</kbd> <kbd>k</kbd> next and previous.</span> <${Exports} name="conflicts" rows=${state.value.more ? async () => (await load(MOST)).listed : all} /></p>`}
    <div class="grid conflicts">${conflicts.map((conflict, index) => html`<${Conflict} key=${conflict.key} conflict=${conflict} current=${index === at} busy=${busy} onDecide=${(key) => decide(conflict, key)} />`)}</div><${Pager} count=${all.length} first=${first} more=${state.value.more} />
    ${!conflicts.length && html`<${Empty} title="No memories disagree.">Two memories conflict if they say different things about the same subject, such as two ports of one server, and neither has replaced the other.</${Empty}>`}`}</${Loaded}>`;
}
