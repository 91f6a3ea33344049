// The hits of a question, best first, each with the parts of its score.
import { html } from "../html.js";
import { post } from "../api.js";
import { decimal, relative, shortened } from "../format.js";
import { useLoaded } from "../loading.js";
import { Loaded, MemoryLink, ScopeName, Tier } from "./basics.js";
import { ScoreBar, ScoreLegend } from "./scores.js";

const SHOWN_CHARACTERS = 300;
const LIMIT = 10;

function Hit({ hit, expected, onSelect }) {
  return html`<li class="hit">
    <div class="hit-top"><${Tier} tier=${hit.tier} /> <span>${hit.kind}</span> <${ScopeName} scope=${hit.scope} />
      <span class="hint">${relative(hit.updated_at)}</span>
      <label class="check"><input type="checkbox" checked=${expected} onChange=${() => onSelect(hit.id)} /> expected</label></div>
    <p class="content"><${MemoryLink} id=${hit.id}>${shortened(hit.content, SHOWN_CHARACTERS) || hit.id}</${MemoryLink}></p>
    <${ScoreBar} score=${hit.score} parts=${hit.parts} />
  </li>`;
}

export function Hits({ query, setting, includeNarrower, selected, onSelect }) {
  const body = { query, tiers: setting.tiers, include_narrower: includeNarrower && !setting.asOf, track: false, limit: LIMIT, ...(setting.asOf ? { as_of: setting.asOf } : {}) };
  const state = useLoaded(() => post("/recall", body), [JSON.stringify(body)]);
  return html`<${Loaded} state=${state}>${(found) => html`
    <p class="hint">Confidence that the hits answer the question: ${decimal(found.confidence)}.
      ${found.degraded.join(" ")} ${found.hint}</p>
    ${found.items.length ? html`<${ScoreLegend} /><ol class="hits" aria-busy=${state.loading ? "true" : "false"}>
      ${found.items.map((hit) => html`<${Hit} key=${hit.id} hit=${hit} expected=${selected.has(hit.id)} onSelect=${onSelect} />`)}</ol>`
      : html`<p class="empty">Nothing was found in these tiers.</p>`}
    ${found.pinned.length > 0 && html`<h3>Pinned</h3><ol class="hits">
      ${found.pinned.map((hit) => html`<${Hit} key=${hit.id} hit=${hit} expected=${selected.has(hit.id)} onSelect=${onSelect} />`)}</ol>`}`}</${Loaded}>`;
}
