// The hits of a question, best first, each with the parts of its score; equal texts are one hit.
import { html } from "../html.js";
import { get, post } from "../api.js";
import { count, lastDay, percent, scopeName, shortened, titleOf } from "../format.js";
import { useLoaded } from "../loading.js";
import { hrefOf } from "../route.js";
import { Empty, Loaded, MemoryLink, ScopeName, Tier, Time } from "./basics.js";
import { ScoreBar } from "./scores.js";

const SHOWN_CHARACTERS = 300;
const LIMIT = 10, MOST_CONFLICTS = 1000;

const bodyOf = (query, setting, includeNarrower) => ({ query, tiers: setting.tiers, include_narrower: includeNarrower && !setting.asOf, track: false, limit: LIMIT, ...(setting.asOf ? { as_of: setting.asOf } : {}) });

export function useHits(query, setting, includeNarrower) {
  const body = bodyOf(query, setting, includeNarrower);
  return useLoaded(() => (query ? post("/recall", body) : Promise.resolve(null)), [JSON.stringify(body)]);
}

// Return hits with equal texts as one, the best of them, with the others as `same`.
export function grouped(hits) {
  const groups = new Map();
  for (const hit of hits) {
    if (groups.has(hit.content)) groups.get(hit.content).same.push(hit);
    else groups.set(hit.content, { ...hit, same: [] });
  }
  return [...groups.values()];
}

// Return the conflicts between hits, by the id of each of both, with the other one.
function conflictsOf(hits, conflicts) {
  const ids = new Set(hits.map((hit) => hit.id));
  const among = conflicts.filter(({ older, newer }) => ids.has(older.id) && ids.has(newer.id));
  return { among, others: new Map(among.flatMap(({ older, newer }) => [[older.id, newer], [newer.id, older]])) };
}

function Hit({ hit, place, expected, other, onSelect }) {
  return html`<li class="hit"><div class="hit-top"><span class="hint">${place}</span><${Tier} tier=${hit.tier} /> <span class="hint">${hit.kind} · <${ScopeName} scope=${hit.scope} /> · <${Time} at=${hit.updated_at} />${hit.valid_until ? ` · until ${lastDay(hit.valid_until)}` : ""}</span>
      <label class="check hint"><input type="checkbox" checked=${expected} onChange=${() => onSelect(hit.id)} /> expected</label></div>
    <p class="content"><${MemoryLink} id=${hit.id}>${shortened(hit.content, SHOWN_CHARACTERS) || hit.id}</${MemoryLink}></p>
    <${ScoreBar} score=${hit.score} parts=${hit.parts} />
    ${other && html`<p class="conflict-with"><strong>Conflict:</strong> <${MemoryLink} id=${other.id}>${titleOf(other.content)}</${MemoryLink}> says otherwise.</p>`}
    ${hit.same.length > 0 && html`<p class="hint">The same text ${hit.same.length === 1 ? "once more" : `${hit.same.length} times more`}: ${hit.same.map((each, index) => html`${index ? ", " : ""}<${MemoryLink} id=${each.id}>${scopeName(each.scope)}</${MemoryLink}>`)}</p>`}</li>`;
}

export function Hits({ state, selected, onSelect }) {
  const conflicts = useLoaded(() => get("/conflicts", { include_narrower: true, limit: MOST_CONFLICTS }));
  const { among, others } = conflictsOf(state.value ? [...state.value.items, ...state.value.pinned] : [], conflicts.value?.conflicts ?? []);
  const list = (hits) => html`<ol class="hits" aria-busy=${state.loading ? "true" : "false"}>${grouped(hits).map((hit, index) => html`<${Hit} key=${hit.id} hit=${hit} place=${index + 1} expected=${selected.has(hit.id)} other=${others.get(hit.id)} onSelect=${onSelect} />`)}</ol>`;
  return html`<${Loaded} state=${state} rows=${8}>${(found) => found && html`
    ${among.length > 0 && html`<p class="notice">${count(others.size, "hit")} contradict each other: ${among.map(({ about }) => about).join("; ")}. <a href=${hrefOf(["conflicts"])}>Decide</a></p>`}
    <p class="hint">Search confidence ${percent(found.confidence)}: how likely the hits are about the question. ${[...found.degraded, found.hint].filter(Boolean).join(" ")}</p>
    ${found.items.length ? list(found.items) : html`<${Empty} title="Nothing was found.">Search other tiers, or a wider scope.</${Empty}>`}
    ${found.pinned.length > 0 && html`<h3>Pinned, in every answer</h3>${list(found.pinned)}`}`}</${Loaded}>`;
}

// Two answers as one list: where each hit stands in the first and in the second.
export function HitDifference({ first, second }) {
  const state = { value: first.value && second.value ? true : undefined, error: first.error || second.error, loading: first.loading || second.loading, reload: () => { first.reload(); second.reload(); } };
  return html`<${Loaded} state=${state} rows=${8}>${() => {
    const placesOf = (answer) => new Map(grouped(answer.items).map((hit, index) => [hit.id, [index + 1, hit]]));
    const one = placesOf(first.value), other = placesOf(second.value);
    const ids = [...new Set([...one.keys(), ...other.keys()])].sort((a, b) => Math.min(one.get(a)?.[0] ?? 99, other.get(a)?.[0] ?? 99) - Math.min(one.get(b)?.[0] ?? 99, other.get(b)?.[0] ?? 99));
    const equal = ids.filter((id) => one.get(id)?.[0] === other.get(id)?.[0]).length;
    const told = (a, b) => (!a ? `only in B, ${b}` : !b ? `only in A, ${a}` : a === b ? `${a} in both` : `${a} in A, ${b} in B`);
    return html`<p class="hint">${equal} of ${ids.length} hits stand at the same place. Search confidence ${percent(first.value.confidence)} in A, ${percent(second.value.confidence)} in B.</p>
      <ol class="hits">${ids.map((id) => { const [a, hit] = one.get(id) ?? [undefined, other.get(id)[1]], [b] = other.get(id) ?? []; return html`<li key=${id} class="hit ${a === b ? "" : "other"}">
        <div class="hit-top"><strong>${told(a, b)}</strong><${Tier} tier=${hit.tier} /></div><p class="content"><${MemoryLink} id=${id}>${shortened(hit.content, SHOWN_CHARACTERS)}</${MemoryLink}></p></li>`; })}</ol>`;
  }}</${Loaded}>`;
}
