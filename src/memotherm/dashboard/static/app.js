// The dashboard: log in, choose the page of the address, show it beside the navigation.
import { html, render, useCallback, useEffect, useMemo, useRef, useState } from "./vendor/htm-preact.module.js";
import { AddMemory } from "./changes.js";
import { Confirmations, Dialog, ErrorNotice, Skeleton, Tier, toastError, Toasts, useDismissed } from "./controls.js";
import { compact, scopeName, shortened, titleOf } from "./format.js";
import { Overview } from "./overview.js";
import { hrefOf, navigate, setParams, SHORTCUTS, useKeys, useRoute } from "./route.js";
import { authenticate, BACK, connectionLost, entered, formatScope, get, login, Login, logout, parseScope, search, tryAgain, Unreachable, useIsLost, useLoaded, useLogin, useReconnected, whenUnauthorized } from "./server.js";

// The pages in the order of the navigation, in groups. The module of a page is loaded when it is first shown.
//   path: the first part of the address; the first page has none.
//   icon: the path of a drawing of 20 by 20.
//   load: returns a promise of the component, which gets {route: {path, params}}.
//   inMenu: on a phone, the page is in the menu, not on the bar.
//   within: the page of the navigation that a linked page belongs to.
const NAVIGATION = [
  { title: "", pages: [
    { path: "", title: "Overview", icon: "M3 9.5 10 4l7 5.5V16a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1zM8 17v-5h4v5", load: async () => Overview },
    { path: "memories", title: "Memories", icon: "M4 5h12M4 10h12M4 15h8", load: async () => (await import("./pages/memories.js")).Memories },
    { path: "activity", title: "Activity", icon: "M10 5v5l3 2M17 10a7 7 0 1 1-7-7", load: async () => (await import("./pages/activity.js")).Activity },
    { path: "timeline", title: "Timeline", icon: "M5 4v12M5 6h10M5 10h7M5 14h9", inMenu: true, load: async () => (await import("./pages/timeline.js")).Timeline },
    { path: "conflicts", title: "Conflicts", icon: "M3 7h11l-3-3M17 13H6l3 3", inMenu: true, load: async () => (await import("./pages/conflicts.js")).Conflicts },
    { path: "review", title: "Review", icon: "M3 11h4l1 2h4l1-2h4M3 11l2-7h10l2 7v5H3z", inMenu: true, load: async () => (await import("./pages/review.js")).Review },
  ] },
  { title: "In prompts", pages: [
    { path: "prompts", title: "Prompts", icon: "M4 4h12v9H9l-4 3v-3H4z", load: async () => (await import("./pages/prompts.js")).Prompts },
    { path: "playground", title: "Playground", icon: "M8.5 14a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM17 17l-4-4", load: async () => (await import("./pages/playground.js")).Playground },
    { path: "costs", title: "Costs", icon: "M4 16V9M10 16V4M16 16v-5", load: async () => (await import("./pages/costs.js")).Costs },
  ] },
  { title: "System", pages: [
    { path: "rules", title: "Rules", icon: "M4 6h8M16 6h0M4 14h2M10 14h6M14 4v4M8 12v4", load: async () => (await import("./pages/rules.js")).Rules },
    { path: "health", title: "Health", icon: "M3 10h4l2-5 3 10 2-5h3", load: async () => (await import("./pages/health.js")).Health },
  ] },
];
const LINKED = [{ path: "memory", title: "A memory", within: "memories", load: async () => (await import("./pages/memory.js")).MemoryPage }];
const UNKNOWN = { path: "unknown", title: "No such page", load: async () => Unknown };

function pageOf(path) {
  return [...NAVIGATION.flatMap((group) => group.pages), ...LINKED].find((page) => page.path === (path[0] || "")) || UNKNOWN;
}

// The scope of the whole dashboard, in the address: everything at and below it is shown.
const FIELDS = ["project", "environment", "user", "agent", "session"];
const MOST = 500;

// Return the scopes as a tree in reading order, each with its depth and the memories at and below it.
function scopeTree(scopes) {
  const nodes = new Map();
  for (const { scope, memories } of scopes) {
    const path = FIELDS.filter((name) => name in scope).map((name) => [name, scope[name]]);
    for (let depth = 0; depth <= path.length; depth++) {
      const part = Object.fromEntries(path.slice(0, depth));
      const key = formatScope(part);
      const node = nodes.get(key) || { key, scope: part, depth, memories: 0 };
      node.memories += memories;
      nodes.set(key, node);
    }
  }
  return [...nodes.values()].sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0));
}

function ScopeChoice() {
  const login = useLogin();
  const { params } = useRoute();
  const current = params.get("scope") || "";
  const loaded = useLoaded(() => get("/scopes", {}, { scope: {} }), [login]);
  const tree = useMemo(() => scopeTree(loaded.value?.scopes || []).filter((node) => node.key), [loaded.value]);
  const shown = tree.slice(0, MOST);
  if (current && !shown.some((node) => node.key === current)) shown.unshift({ key: current, scope: parseScope(current), depth: 1, memories: 0 });
  const everything = Object.keys(login.scope).length ? `Everything of ${scopeName(login.scope)}` : "Everything";
  const name = (node) => {
    const [field, value] = Object.entries(node.scope).at(-1);
    return `${"  ".repeat(node.depth - 1)}${field} ${value}`;
  };
  return html`<div class="scope-choice"><label class="hint" for="scope-choice">Scope</label>
    <select id="scope-choice" value=${current} onChange=${(event) => setParams({ scope: event.target.value }, { replace: false })}>
      <option value="" selected=${!current}>${everything}</option>
      ${shown.map((node) => html`<option key=${node.key} value=${node.key} selected=${node.key === current}>
        ${name(node)} (${compact(node.memories)})</option>`)}
    </select></div>`;
}

// The navigation: a column at the left, on a phone a bar at the bottom.
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

function Sidebar({ route, login, onLogout, onSearch, onHelp }) {
  const page = pageOf(route.path);
  const here = page.within ?? page.path;
  const phone = usePhone();
  const menu = useDismissed();
  const pages = NAVIGATION.flatMap((group) => group.pages);
  const search = html`<button type="button" class="search-button" onClick=${onSearch}><span>Search</span><kbd>⌘K</kbd></button>`;
  const account = html`<${Account} login=${login} onLogout=${onLogout} onHelp=${onHelp} />`;
  if (phone) {
    const onBar = pages.filter((each) => !each.inMenu).slice(0, ON_THE_BAR);
    // A choice in the menu closes it.
    const close = (event) => { if (event.target.closest("a, button")) event.currentTarget.closest("details").open = false; };
    return html`<nav class="sidebar" aria-label="Pages"><ul class="tabs">${onBar.map((each) => html`<${Item} page=${each} here=${here} />`)}
      <li><details ref=${menu}><summary><${Icon} path=${MORE} />More</summary><div onClick=${close}>${search}<ul>${pages.filter((each) => !onBar.includes(each)).map((each) => html`<${Item} page=${each} here=${here} />`)}</ul>${account}</div></details></li></ul></nav>`;
  }
  return html`<nav class="sidebar" aria-label="Pages"><a class="brand" href=${hrefOf([""])}><${Icon} path=${MARK} />Memotherm</a>${search}
    ${NAVIGATION.map(({ title, pages: own }) => html`${title && html`<p class="group">${title}</p>`}<ul>${own.map((each) => html`<${Item} page=${each} here=${here} />`)}</ul>`)}
    ${account}</nav>`;
}

// Search from anywhere: memories by meaning and words, and pages by name.

const DELAY_MILLISECONDS = 150;
const SHOWN = 8;

const pagesOf = (text) => NAVIGATION.flatMap((group) => group.pages).filter((page) => page.title.toLowerCase().includes(text.toLowerCase()))
  .map((page) => ({ key: `page ${page.path}`, open: () => navigate([page.path]), label: html`<span>Go to ${page.title}</span>` }));
const entryOf = (memory) => ({ key: memory.id, open: () => navigate(["memory", memory.id]),
  label: html`<div class="row"><${Tier} tier=${memory.tier} /><span class="grow line">${titleOf(memory.content)}</span></div>` });

function Palette({ onClose }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState([]);
  const [chosen, setChosen] = useState(0);
  const [state, setState] = useState("");
  const list = useRef(null);
  const asked = text.trim();
  useEffect(() => {
    setChosen(0);
    if (!asked) { setFound([]); setState(""); return undefined; }
    let current = true;
    const timer = setTimeout(() => search(asked, {}, SHOWN).then((memories) => {
      if (current) { setFound(memories.slice(0, SHOWN)); setState(memories.length ? "" : "No memory says this."); }
    }, (error) => current && setState(error.message)), DELAY_MILLISECONDS);
    return () => { current = false; clearTimeout(timer); };
  }, [asked]);
  const all = asked ? [{ key: "all", open: () => navigate(["memories"], { q: asked }), label: html`<span>Show all memories for “${shortened(asked, 40)}”</span>` }] : [];
  const entries = [...found.map(entryOf), ...pagesOf(asked), ...all];
  const open = (entry) => { onClose(); entry.open(); };
  const move = (step) => {
    const next = (chosen + step + entries.length) % entries.length;
    setChosen(next);
    list.current.children[next]?.scrollIntoView({ block: "nearest" });
  };
  const keys = (event) => {
    const actions = { ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: () => entries[chosen] && open(entries[chosen]) };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  };
  return html`<${Dialog} title="Search" titleHidden kind="palette" onClose=${onClose}>
    <input type="search" role="combobox" aria-label="Search memories and pages" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${`palette-${chosen}`}
      placeholder="Search memories and pages" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${keys} />
    <p class="hint" role="status">${state}</p>
    <ul class="plain" id="palette-list" role="listbox" aria-label="Results" ref=${list}>${entries.map((entry, index) => html`<li key=${entry.key} id=${`palette-${index}`} role="option"
      aria-selected=${index === chosen ? "true" : "false"} onClick=${() => open(entry)}>${entry.label}</li>`)}</ul>
  </${Dialog}>`;
}

// Log in with an API key. The key is exchanged for a cookie that scripts cannot read, and is not kept.

function LoginPage({ refused, onLogin }) {
  const [secret, setSecret] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      onLogin(await login(secret.trim()));
    } catch (problem) {
      setError(problem.message);
      setBusy(false);
    }
  };
  return html`<main class="login">
    <h1>Memotherm</h1>
    ${refused && html`<p class="notice" role="alert">This login link is wrong, was used before, or has ended: each works once. <code>memotherm dashboard</code> makes a new one.</p>`}
    <form onSubmit=${submit}>
      <p>This server asks for an API key. <code>memotherm keys create NAME --tenant TENANT --person</code> makes one for a person.
        With a key of an agent, what you change here has the trust of an agent.
        On the machine of the store, <code>memotherm dashboard</code> opens the dashboard without a key.</p>
      <label class="field">API key
        <input type="password" required autocomplete="current-password" value=${secret} aria-invalid=${error ? "true" : undefined}
          aria-describedby="login-error" onInput=${(event) => setSecret(event.target.value)} /></label>
      <p id="login-error" class="hint error" role="alert">${error}</p>
      <button type="submit" class="primary" disabled=${busy || !secret.trim()}>Log in</button>
    </form>
  </main>`;
}

// What the reader sees while the server does not respond.

function ConnectionBanner() {
  const lost = useIsLost();
  return html`<div role="status" aria-live="polite">${lost && html`<p class="banner"><strong>The server does not respond.</strong>
    What you see may be out of date. This page reconnects by itself. <button type="button" onClick=${tryAgain}>Try now</button></p>`}</div>`;
}

const Unknown = () => html`<p>This address belongs to no page: <a href=${hrefOf([""])}>go to the overview</a>.</p>`;

// Return {content}, the component of a page, when its module is there, or {error}.
function useContent(page) {
  const [loaded, setLoaded] = useState({});
  useEffect(() => {
    let current = true;
    page.load().then((content) => current && setLoaded({ page, content }), () => {
      // The module did not come: the page is loaded anew when the server is back.
      connectionLost();
      addEventListener(BACK, () => location.reload(), { once: true });
      if (current) setLoaded({ page, error: new Unreachable() });
    });
    return () => { current = false; };
  }, [page]);
  // The content of the former page must not be given the address of this one.
  return loaded.page === page ? loaded : {};
}

function Page({ route, onAdd }) {
  const page = pageOf(route.path);
  const { content: Content, error } = useContent(page);
  const heading = useRef(null);
  const first = useRef(true);
  useEffect(() => {
    document.title = `${page.title} · Memotherm`;
    if (!first.current) heading.current?.focus();
    first.current = false;
  }, [page]);
  // Another scope is another page: nothing of the former one stays.
  const scope = route.params.get("scope") || "";
  return html`<main id="main" tabindex="-1">
    <div class="page-head"><h1 ref=${heading} class="grow" tabindex="-1">${page.title}</h1>
      ${onAdd && html`<button type="button" onClick=${onAdd}>Add a memory</button>`}</div>
    ${error && html`<${ErrorNotice} error=${error} />`}
    ${!Content && !error && html`<${Skeleton} rows=${6} />`}
    ${Content && html`<${Content} key=${`${page.path} ${route.path[1] || ""} ${scope}`} route=${route} />`}
  </main>`;
}

const Shortcuts = ({ onClose }) => html`<${Dialog} title="Shortcuts" onClose=${onClose}><dl class="facts">
  ${SHORTCUTS.map(([key, meaning]) => html`<dt key=${key}><kbd>${key}</kbd></dt><dd>${meaning}</dd>`)}</dl>
  <div class="buttons"><button type="button" onClick=${onClose}>Close</button></div></${Dialog}>`;

function Dashboard({ route, login: who, onLogout }) {
  const [layer, setLayer] = useState(null);
  // A dialog tells that it was closed after its key: by then another one may have been opened.
  const close = (name) => () => setLayer((shown) => (shown === name ? null : shown));
  const find = () => {
    const field = document.querySelector("main [type=search]");
    if (field) field.focus();
    else setLayer("search");
  };
  const add = who.read_only ? null : () => setLayer("add");
  useKeys({ "/": find, "?": () => setLayer("help"), ...(add ? { n: add } : {}) }, () => setLayer("search"));
  return html`<a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>Skip to content</a>
    <div class="frame"><${Sidebar} route=${route} login=${who} onLogout=${onLogout} onSearch=${() => setLayer("search")} onHelp=${() => setLayer("help")} />
      <div class="grow"><${ConnectionBanner} /><${Page} route=${route} onAdd=${add} /></div></div>
    ${layer === "search" && html`<${Palette} onClose=${close("search")} />`}
    ${layer === "help" && html`<${Shortcuts} onClose=${close("help")} />`}
    ${layer === "add" && html`<${AddMemory} onClose=${close("add")} />`}`;
}

function App() {
  const route = useRoute();
  const [who, setWho] = useState(null);
  const [problem, setProblem] = useState(null);
  const [refused, setRefused] = useState(false);
  const settle = ({ who: found, error, refused: wrong = false }) => {
    setRefused(wrong);
    setProblem(error && error.status !== 401 ? error : null);
    if (!error || error.status === 401) setWho(found ?? false);
  };
  const enter = () => authenticate().then(settle);
  useEffect(() => { whenUnauthorized(() => setWho(false)); entered.then(settle); }, []);
  useReconnected(useCallback(() => { if (problem) enter(); }, [problem]));
  const leave = () => logout().then(() => setWho(false), toastError);
  if (problem) return html`<main><h1>Memotherm</h1><${ErrorNotice} error=${problem} retry=${enter} /></main>`;
  if (who === null) return html`<main><${Skeleton} rows=${6} /></main>`;
  if (who === false) return html`<${LoginPage} refused=${refused} onLogin=${setWho} />`;
  return html`<${Login.Provider} value=${who}><${Dashboard} route=${route} login=${who} onLogout=${leave} /><${Confirmations} /><${Toasts} /></${Login.Provider}>`;
}

render(html`<${App} />`, document.getElementById("app"));
