// The context of a question: its text coloured by memory, what is in it, what is left out and at which budget it enters.
import { html, useState } from "../html.js";
import { post } from "../api.js";
import { number, percent } from "../format.js";
import { useLoaded } from "../loading.js";
import { Loaded } from "./basics.js";
import { ContextText, Included, LeftOut, nextToEnter } from "./context.js";

const SHOWN = 15;

export function ContextResult({ query, setting, of }) {
  const body = { query, budget: setting.budget, include_cold: setting.cold, track: false, ...(setting.asOf ? { as_of: setting.asOf } : {}) };
  const state = useLoaded(() => post("/context", body), [JSON.stringify(body)]);
  const [selected, setSelected] = useState(null);
  return html`<${Loaded} state=${state}>${({ parts, tokens, receipt }) => {
    const next = nextToEnter(receipt, setting.budget);
    return html`<div aria-busy=${state.loading ? "true" : "false"}>
      <p>${number(tokens)} of ${number(receipt.budget)} tokens (${percent(receipt.budget ? tokens / receipt.budget : 0)}),${" "}
        ${Object.entries(receipt.shares).map(([name, share]) => `${name} ${number(share)}`).join(", ")}.
        ${" "}${next ? html`Next to enter: <strong>${next.title}</strong> at ${number(next.fits_at)} tokens, ${number(next.fits_at - setting.budget)} more.` : "A larger budget adds nothing."}</p>
      ${receipt.notes.map((note) => html`<p key=${note} class="notice">${note}</p>`)}
      ${receipt.degraded.map((reason) => html`<p key=${reason} class="notice warning">${reason}</p>`)}
      ${parts.length > 0 && html`<${ContextText} of=${of} parts=${parts} included=${receipt.included} selected=${selected}
        onSelect=${(id) => setSelected(id === selected ? null : id)} />`}
      <h4>In the context: ${number(receipt.included.length)}</h4>
      <${Included} of=${of} most=${SHOWN} entries=${receipt.included} coloured />
      <h4>Left out: ${number(receipt.left_out.length)}</h4>
      <${LeftOut} of=${of} most=${SHOWN} entries=${receipt.left_out} />
    </div>`;
  }}</${Loaded}>`;
}
