// Small parts that several pages use.
import { html } from "../html.js";
import { number, scopeFields, scopeName, time, when } from "../format.js";
import { hrefOf, parseRoute } from "../route.js";

export const Tier = ({ tier }) => html`<span class="tier ${tier}">${tier}</span>`;
// A moment in the words that say most; the exact one is its title.
export const Time = ({ at, text = at && when(at) }) => (at ? html`<time datetime=${at} title=${time(at)}>${text}</time>` : "–");
// A scope by its names; its fields are its title. `session` is what to call its session.
export const ScopeName = ({ scope, session }) => html`<span class="scope" title=${scopeFields(scope)}>${scopeName(scope, session)}</span>`;

export const memoryHref = (id) => hrefOf(["memory", id]);
export const MemoryLink = ({ id, children }) => html`<a href=${memoryHref(id)}>${children ?? id}</a>`;

// Rows that take the place of what is loaded, so that the page does not jump.
export const Skeleton = ({ rows = 4 }) => html`<div class="skeleton loading" role="status" aria-label="Loading">
  ${Array.from({ length: rows }, (_, index) => html`<span key=${index}></span>`)}</div>`;

// A value that is loaded: the error with its remedy, rows in its place while it is loaded, or what it renders to.
export function Loaded({ state, children, rows }) {
  if (state.error && state.value === undefined) return html`<${ErrorNotice} error=${state.error} retry=${state.reload} />`;
  if (state.value === undefined) return html`<${Skeleton} rows=${rows} />`;
  return html`${state.error && html`<${ErrorNotice} error=${state.error} retry=${state.reload} />`}${children(state.value)}`;
}

export const ErrorNotice = ({ error, retry }) => html`<div class="notice row" role="alert"><p>${error.message}</p>
  ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}</div>`;

// Which part of a long list is shown, with links to the others; `first` is a parameter of the address.
export const PAGE = 50;
export function Pager({ count, first }) {
  const { path, params } = parseRoute();
  const link = (place, text) => html`<a class="button" href=${hrefOf(path, { ...Object.fromEntries(params), first: place || "" })}>${text}</a>`;
  return count > PAGE && html`<nav class="buttons" aria-label="Parts of the list">${first > 0 && link(Math.max(0, first - PAGE), "Previous")}
    <span class="hint">${number(first + 1)} to ${number(Math.min(count, first + PAGE))} of ${number(count)}</span>${first + PAGE < count && link(first + PAGE, "Next")}</nav>`;
}

// What to do where there is nothing to show.
export const Empty = ({ title, children }) => html`<div class="empty"><p><strong>${title}</strong></p>${children && html`<p>${children}</p>`}</div>`;
