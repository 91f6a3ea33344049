// Ask a question, and see each hit with the parts of its score, and the context that an agent would get.
import { html, useState } from "../vendor/htm-preact.module.js";
import { ContextBar, ContextText, Entries, Included, nextToEnter } from "../context.js";
import { CheckFilter, download, Empty, Loaded, MemoryLink, ScopeName, SelectFilter, TextFilter, Tier, Time, toast, toastError, useTypedParam } from "../controls.js";
import { count, decimal, lastDay, number, percent, scopeName, shortened, titleOf, tokens } from "../format.js";
import { hrefOf, parseRoute, useParam } from "../route.js";
import { get, parseScope, post, useLoaded } from "../server.js";

// The parts of a score as a bar, with the same numbers as text.
// What adds up to the score, in the order of the bar.
const ADDED = [["relevance", "relevance", "shade-1"], ["use", "use", "shade-2"], ["boost", "priority", "shade-3"], ["tier", "tier", "shade-4"], ["newer", "newer version", "shade-4"]];
// The evidence that makes the relevance.
const EVIDENCE = [["vector", "meaning"], ["text", "words"], ["time", "time"]];

function evidence(parts) {
  const found = EVIDENCE.filter(([name]) => parts[name] !== null && parts[name] !== 0).map(([name, label]) => `${label} ${decimal(parts[name])}`);
  return [...found, ...(parts.author ? ["author"] : []), ...(parts.rerank === null || parts.rerank === undefined ? [] : [`reranked ${decimal(parts.rerank)}`])].join(", ");
}

// Return the parts that are not zero: [label, value, shade].
function addends(parts) {
  return ADDED.filter(([name]) => parts[name]).map(([name, label, shade]) => [label, parts[name], shade]);
}

const signed = (value) => (value < 0 ? decimal(value) : `+${decimal(value)}`);

function ScoreBar({ score, parts }) {
  const found = addends(parts);
  // What is subtracted is pale at the end of the bar.
  const total = Math.max(1, found.reduce((sum, [, value]) => sum + Math.abs(value), 0));
  return html`<div class="score">
    <div class="bar" aria-hidden="true">${found.map(([label, value, shade]) => html`<span key=${label} class="${shade} ${value < 0 ? "minus" : ""}" style=${{ width: `${(100 * Math.abs(value)) / total}%` }}></span>`)}</div>
    <span class="hint"><strong>${decimal(score)}</strong> = ${found.map(([label, value], index) => `${index ? signed(value) : decimal(value)} ${label}`).join(" ") || "0"}${evidence(parts) && ` (${evidence(parts)})`}</span>
  </div>`;
}

// The hits of a question, best first, each with the parts of its score; equal texts are one hit.

const SHOWN_CHARACTERS = 300;
const LIMIT = 10;

const bodyOf = (query, setting, includeNarrower) => ({ query, tiers: setting.tiers, include_narrower: includeNarrower && !setting.asOf, track: false, limit: LIMIT, ...(setting.asOf ? { as_of: setting.asOf } : {}) });

function useHits(query, setting, includeNarrower) {
  const body = bodyOf(query, setting, includeNarrower);
  return useLoaded(() => (query ? post("/recall", body) : Promise.resolve(null)), [JSON.stringify(body)]);
}

// Return hits with equal texts as one, the best of them, with the others as `same`.
function grouped(hits) {
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

function Hits({ state, selected, onSelect }) {
  const hits = state.value ? [...state.value.items, ...state.value.pinned] : [];
  const ids = hits.map((hit) => hit.id);
  const conflicts = useLoaded(async () => (ids.length ? (await get("/conflicts", { include_narrower: true, ids })).conflicts : []), [ids.join()]);
  const { among, others } = conflictsOf(hits, conflicts.value ?? []);
  const list = (hits) => html`<ol class="hits" aria-busy=${state.loading ? "true" : "false"}>${grouped(hits).map((hit, index) => html`<${Hit} key=${hit.id} hit=${hit} place=${index + 1} expected=${selected.has(hit.id)} other=${others.get(hit.id)} onSelect=${onSelect} />`)}</ol>`;
  return html`<${Loaded} state=${state} rows=${8}>${(found) => found && html`
    ${among.length > 0 && html`<p class="notice">${count(others.size, "hit")} contradict each other: ${among.map(({ about }) => about).join("; ")} <a href=${hrefOf(["conflicts"])}>Decide</a></p>`}
    <p class="hint">Search confidence ${percent(found.confidence)}: how likely the hits are about the question. ${[...found.degraded, found.hint].filter(Boolean).join(" ")}</p>
    ${found.items.length ? list(found.items) : html`<${Empty} title="Nothing was found.">Search other tiers, or a wider scope.</${Empty}>`}
    ${found.pinned.length > 0 && html`<h3>Pinned, in every answer</h3>${list(found.pinned)}`}`}</${Loaded}>`;
}

// Two answers as one list: where each hit stands in the first and in the second.
function HitDifference({ first, second }) {
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

// A slider for a budget of tokens.

const MOST = 8000;

function BudgetSlider({ name, fallback = "2000" }) {
  const [shown, change] = useTypedParam(name, { fallback });
  return html`<label class="field">Budget: ${number(Number(shown))} tokens
    <input type="range" min="0" max=${MOST} step="25" value=${shown} onInput=${change} /></label>`;
}

// The context of a question: its text, what is in it, what is left out and at which budget it enters.

const SHOWN = 15;

function useContextOf(query, setting) {
  const body = { query, budget: setting.budget, include_cold: setting.cold, track: false, ...(setting.asOf ? { as_of: setting.asOf } : {}) };
  return useLoaded(() => (query ? post("/context", body) : Promise.resolve(null)), [JSON.stringify(body)]);
}

const entersAt = (entry) => html`<span>${entry.fits_at ? `enters at ${tokens(entry.fits_at)}` : "enters at no budget"}</span>`;

function ContextResult({ state, setting, of = "" }) {
  const [selected, setSelected] = useState(null);
  return html`<${Loaded} state=${state} rows=${8}>${(found) => {
    if (!found) return null;
    const { parts, tokens: used, receipt } = found;
    const next = nextToEnter(receipt, setting.budget);
    return html`<div aria-busy=${state.loading ? "true" : "false"}>
      <p class="hint">${number(used)} of ${tokens(receipt.budget)}. ${next ? html`Next to enter: <strong>${next.title}</strong> at ${number(next.fits_at)} tokens, ${number(next.fits_at - setting.budget)} more.` : "A larger budget adds nothing."}</p>
      <${ContextBar} receipt=${receipt} />
      ${[...receipt.notes, ...receipt.degraded].map((note) => html`<p key=${note} class="notice">${note}</p>`)}
      ${parts.length > 0 && html`<${ContextText} of=${of} parts=${parts} included=${receipt.included} selected=${(entry) => entry?.id === selected} onSelect=${(id) => setSelected(id === selected ? null : id)} />`}
      <${Included} title="In the context" entries=${receipt.included} most=${SHOWN} />
      <h3>Left out: ${number(receipt.left_out.length)}</h3><${Entries} entries=${receipt.left_out} facts=${entersAt} most=${SHOWN} />
    </div>`;
  }}</${Loaded}>`;
}

// What the second context has that the first has not, and the other way round.
function ContextDifference({ first, second }) {
  if (!first.value || !second.value) return null;
  const entries = [first, second].map((state) => new Map(state.value.receipt.included.map((entry) => [entry.id, entry])));
  const only = ([own, other]) => [...own.values()].filter((entry) => !other.has(entry.id));
  const left = only(entries), added = only([...entries].reverse());
  return html`<div class="card"><h3>What B changes</h3><p class="hint">${number(first.value.tokens)} tokens in A, ${number(second.value.tokens)} in B; ${number(added.length)} only in B, ${number(left.length)} only in A.</p>
    <ul class="plain rows diff">${added.map((entry) => html`<li key=${entry.id}><ins>+</ins> <${MemoryLink} id=${entry.id}>${entry.title}</${MemoryLink}></li>`)}
      ${left.map((entry) => html`<li key=${entry.id}><del>−</del> <${MemoryLink} id=${entry.id}>${entry.title}</${MemoryLink}></li>`)}</ul></div>`;
}

// A question and the memories that must be found, as a case for `memotherm bench cases`.

// JSON strings are valid TOML strings, except for the character DEL.
const text = (value) => JSON.stringify(value).replaceAll("\u007f", "\\u007f");

function caseOf(query, expected, { scope, tiers, include_narrower, limit = 10 }) {
  const fields = Object.entries(scope).map(([name, value]) => `${name} = ${text(value)}`).join(", ");
  return ["[[case]]", `query = ${text(query)}`, ...(fields ? [`scope = { ${fields} }`] : []), `tiers = [${tiers.map(text).join(", ")}]`,
    `limit = ${limit}`, `include_narrower = ${include_narrower}`, `expect = [${expected.map(text).join(", ")}]`, ""].join("\n");
}

function SaveCase({ query, expected }) {
  const { params } = parseRoute();
  const written = caseOf(query, expected, {
    scope: parseScope(params.get("scope") || ""), tiers: (params.get("tiers") || "hot,warm").split(","), include_narrower: params.get("include_narrower") !== "false",
  });
  const copy = () => navigator.clipboard.writeText(written).then(() => toast("The case was copied"), toastError);
  return html`<section><h2>Save as a regression case</h2>
    <p>Mark the hits that this question must find, and add the case to a file.${" "}
      <code>memotherm bench cases cases.toml</code> runs all cases of the file and fails if one does not find them.</p>
    ${expected.length ? html`<pre class="content" tabindex="0">${written}</pre>
      <div class="buttons"><button type="button" class="primary" onClick=${() => download("cases.toml", written, "application/toml")}>Download cases.toml</button>
        <button type="button" onClick=${copy}>Copy</button></div>`
      : html`<p class="empty">No hit is marked as expected yet.</p>`}
  </section>`;
}

const TIERS = [["hot,warm", "hot and warm"], ["hot,warm,cold", "all"], ["hot", "hot"], ["warm", "warm"], ["cold", "cold"]];

// Return the moment of a field "datetime-local", which is in the reader's zone, as the server takes it.
function asOf(text) {
  const moment = new Date(text);
  return text && !Number.isNaN(moment.getTime()) ? moment.toISOString().replace(/\.\d+Z$/, "Z") : null;
}

// The settings of one side; `side` is the suffix of their names in the address.
function useSetting(side) {
  const [tiers] = useParam(`tiers${side}`, TIERS[0][0]);
  const [moment] = useParam(`as_of${side}`);
  const [budget] = useParam(`budget${side}`, "2000");
  const [cold] = useParam(`cold${side}`, "false");
  return { tiers: tiers.split(","), asOf: asOf(moment), budget: Number(budget) || 0, cold: cold === "true" };
}

const Controls = ({ side, title }) => html`<fieldset class="card controls"><legend class=${title ? "" : "hidden"}>${title || "Settings"}</legend>
  <${SelectFilter} name=${`tiers${side}`} label="Tiers to search" options=${TIERS} fallback=${TIERS[0][0]} />
  <${TextFilter} name=${`as_of${side}`} label="As of" type="datetime-local" />
  <${BudgetSlider} name=${`budget${side}`} />
  <${CheckFilter} name=${`cold${side}`} label="Context searches cold" /></fieldset>`;

export function Playground() {
  const [query] = useParam("q");
  const [includeNarrower] = useParam("include_narrower", "true");
  const [compare] = useParam("compare", "false");
  const [expected, setExpected] = useState(new Set());
  const select = (id) => setExpected((before) => {
    const after = new Set(before);
    if (!after.delete(id)) after.add(id);
    return after;
  });
  const two = compare === "true", narrower = includeNarrower === "true";
  const one = useSetting(""), other = useSetting("_b");
  const hits = useHits(query, one, narrower), context = useContextOf(query, one);
  const otherHits = useHits(two ? query : "", other, narrower), otherContext = useContextOf(two ? query : "", other);
  return html`
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <div class="wide"><${TextFilter} name="q" label="Question" type="search" placeholder="When is the release?" /></div></form>
    <div class="grid play">
      <div class="grid"><${Controls} side="" title=${two ? "A" : ""} />${two && html`<${Controls} side="_b" title="B" />`}
        <div><p><${CheckFilter} name="compare" label="Compare two settings" /></p><p><${CheckFilter} name="include_narrower" label="Include sub-scopes" fallback=${true} /></p>
        <p class="hint">Nothing asked here is logged or counts as a use. The context, and hits as of an earlier time, are those of the chosen scope.</p></div></div>
      ${query ? html`<section aria-label="Hits"><h2>Hits</h2>${two ? html`<${HitDifference} first=${hits} second=${otherHits} />` : html`<${Hits} state=${hits} selected=${expected} onSelect=${select} />`}</section>
        <section aria-label="Context"><h2>Context</h2>${two && html`<${ContextDifference} first=${context} second=${otherContext} />`}
          ${two ? html`<details open><summary>A</summary><${ContextResult} state=${context} setting=${one} /></details><details open><summary>B</summary><${ContextResult} state=${otherContext} setting=${other} of=" (second setting)" /></details>`
            : html`<${ContextResult} state=${context} setting=${one} />`}</section>`
        : html`<${Empty} title="Type a question.">You see the hits, with the parts of their scores, and the text that a model would read.</${Empty}>`}
    </div>
    ${query && !two && html`<${SaveCase} query=${query} expected=${[...expected]} />`}`;
}
