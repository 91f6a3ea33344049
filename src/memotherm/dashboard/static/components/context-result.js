// The context of a question: its text, what is in it, what is left out and at which budget it enters.
import { html, useState } from "../html.js";
import { post } from "../api.js";
import { number, tokens } from "../format.js";
import { useLoaded } from "../loading.js";
import { Loaded, MemoryLink } from "./basics.js";
import { ContextBar, ContextText, Entries, Included, nextToEnter } from "./context.js";

const SHOWN = 15;

export function useContextOf(query, setting) {
  const body = { query, budget: setting.budget, include_cold: setting.cold, track: false, ...(setting.asOf ? { as_of: setting.asOf } : {}) };
  return useLoaded(() => (query ? post("/context", body) : Promise.resolve(null)), [JSON.stringify(body)]);
}

const entersAt = (entry) => html`<span>${entry.fits_at ? `enters at ${tokens(entry.fits_at)}` : "enters at no budget"}</span>`;

export function ContextResult({ state, setting, of = "" }) {
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
export function ContextDifference({ first, second }) {
  if (!first.value || !second.value) return null;
  const entries = [first, second].map((state) => new Map(state.value.receipt.included.map((entry) => [entry.id, entry])));
  const only = ([own, other]) => [...own.values()].filter((entry) => !other.has(entry.id));
  const left = only(entries), added = only([...entries].reverse());
  return html`<div class="card"><h3>What B changes</h3><p class="hint">${number(first.value.tokens)} tokens in A, ${number(second.value.tokens)} in B; ${number(added.length)} only in B, ${number(left.length)} only in A.</p>
    <ul class="plain rows diff">${added.map((entry) => html`<li key=${entry.id}><ins>+</ins> <${MemoryLink} id=${entry.id}>${entry.title}</${MemoryLink}></li>`)}
      ${left.map((entry) => html`<li key=${entry.id}><del>−</del> <${MemoryLink} id=${entry.id}>${entry.title}</${MemoryLink}></li>`)}</ul></div>`;
}
