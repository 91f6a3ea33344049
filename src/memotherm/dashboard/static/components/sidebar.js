// The navigation: a column at the left, on a phone a bar at the bottom.
import { html, useEffect, useState } from "../html.js";
import { NAVIGATION, pageOf } from "../pages/index.js";
import { hrefOf } from "../route.js";
import { ScopeChoice } from "./scope.js";

const PHONE = matchMedia("(max-width: 52rem)");
const ON_THE_BAR = 4;

const Icon = ({ path }) => html`<svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d=${path} /></svg>`;
const MORE = "M4 10h.01M10 10h.01M16 10h.01";
const MARK = "M10 3v8.5M7.5 13.5a2.5 2.5 0 1 0 5 0 2.5 2.5 0 0 0-1-2V4a1.5 1.5 0 0 0-3 0v7.5a2.5 2.5 0 0 0-1 2z";

function usePhone() {
  const [is, set] = useState(PHONE.matches);
  useEffect(() => {
    const update = () => set(PHONE.matches);
    PHONE.addEventListener("change", update);
    return () => PHONE.removeEventListener("change", update);
  }, []);
  return is;
}

const Item = ({ page, here }) => html`<li key=${page.path}><a href=${hrefOf([page.path])} aria-current=${page.path === here ? "page" : undefined}><${Icon} path=${page.icon} />${page.title}</a></li>`;

function Account({ login, onLogout, onHelp }) {
  return html`<div class="bottom"><${ScopeChoice} />
    <div class="row">${login.read_only && html`<span class="badge">read-only</span>`}
      ${login.trust !== "person" && !login.read_only && html`<span class="badge" title="What you change has the trust of an agent">as agent</span>`}
      <button type="button" class="quiet small" onClick=${onHelp}>Shortcuts <kbd>?</kbd></button>
      ${login.cookie && html`<button type="button" class="quiet small" onClick=${onLogout}>Log out</button>`}</div></div>`;
}

export function Sidebar({ route, login, onLogout, onSearch, onHelp }) {
  const page = pageOf(route.path);
  const here = page.within ?? page.path;
  const phone = usePhone();
  const pages = NAVIGATION.flatMap((group) => group.pages);
  const search = html`<button type="button" class="search-button" onClick=${onSearch}><span>Search</span><kbd>⌘K</kbd></button>`;
  const account = html`<${Account} login=${login} onLogout=${onLogout} onHelp=${onHelp} />`;
  if (phone) {
    const onBar = pages.filter((each) => !each.inMenu).slice(0, ON_THE_BAR);
    // A choice in the menu closes it.
    const close = (event) => { if (event.target.closest("a, button")) event.currentTarget.closest("details").open = false; };
    return html`<nav class="sidebar" aria-label="Pages"><ul class="tabs">${onBar.map((each) => html`<${Item} page=${each} here=${here} />`)}
      <li><details><summary><${Icon} path=${MORE} />More</summary><div onClick=${close}>${search}<ul>${pages.filter((each) => !onBar.includes(each)).map((each) => html`<${Item} page=${each} here=${here} />`)}</ul>${account}</div></details></li></ul></nav>`;
  }
  return html`<nav class="sidebar" aria-label="Pages"><a class="brand" href=${hrefOf([""])}><${Icon} path=${MARK} />Memotherm</a>${search}
    ${NAVIGATION.map(({ title, pages: own }) => html`${title && html`<p class="group">${title}</p>`}<ul>${own.map((each) => html`<${Item} page=${each} here=${here} />`)}</ul>`)}
    ${account}</nav>`;
}
