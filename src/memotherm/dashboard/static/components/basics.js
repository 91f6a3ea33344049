// Small parts that several pages use.
import { html } from "../html.js";
import { relative, scopeName, time } from "../format.js";
import { hrefOf } from "../route.js";

export const Tier = ({ tier }) => html`<span class="tier ${tier}">${tier}</span>`;
export const Time = ({ at }) => (at ? html`<time datetime=${at} title=${time(at)}>${relative(at)}</time>` : "–");
export const ScopeName = ({ scope }) => html`<span class="scope">${scopeName(scope)}</span>`;

export const memoryHref = (id) => hrefOf(["memory", id]);
export const MemoryLink = ({ id, children }) => html`<a href=${memoryHref(id)}>${children ?? id}</a>`;

// A value that is loaded: the error with its remedy, a notice while it is loaded, or what it renders to.
export function Loaded({ state, children }) {
  if (state.error && state.value === undefined) return html`<${ErrorNotice} error=${state.error} retry=${state.reload} />`;
  if (state.value === undefined) return html`<p class="loading" role="status">Loading…</p>`;
  return html`${state.error && html`<${ErrorNotice} error=${state.error} retry=${state.reload} />`}${children(state.value)}`;
}

export const ErrorNotice = ({ error, retry }) => html`<div class="notice error" role="alert"><p>${error.message}</p>
  ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}</div>`;

// A part of a whole as a bar.
export function Meter({ label, value, limit, text }) {
  const share = limit ? Math.min(1, value / limit) : 0;
  return html`<div class="meter"><span>${label}</span>
    <meter min="0" max=${limit || 1} high=${(limit || 1) * 0.9} value=${Math.min(value, limit || 0)} aria-label=${label}>${Math.round(share * 100)} %</meter>
    <span>${text}</span></div>`;
}
