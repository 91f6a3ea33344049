// The dashboard: log in, choose the page of the address, show its parts.
import { html, render, useCallback, useEffect, useRef, useState } from "./html.js";
import { login, loginStatus, logout, whenUnauthorized } from "./api.js";
import { useReconnected } from "./connection.js";
import { AddMemory } from "./components/add-memory.js";
import { ErrorNotice, Skeleton } from "./components/basics.js";
import { ConnectionBanner } from "./components/connection-banner.js";
import { Confirmations, Dialog } from "./components/dialog.js";
import { Palette } from "./components/palette.js";
import { Sidebar } from "./components/sidebar.js";
import { Toasts, toastError } from "./components/toast.js";
import { SHORTCUTS, useKeys } from "./keys.js";
import { LoginPage } from "./pages/login.js";
import { pageOf } from "./pages/index.js";
import { navigate, parseRoute, useRoute } from "./route.js";
import { Login } from "./login.js";

// Exchange the one-time token of the address for the cookie, and remove it from the address.
async function authenticate() {
  const { path, params } = parseRoute();
  const token = params.get("token");
  if (!token) return loginStatus();
  params.delete("token");
  navigate(path, Object.fromEntries(params), { replace: true });
  // A second use of the same link is refused; the browser may be logged in already.
  return login(token).catch(() => loginStatus().catch((error) => { throw Object.assign(error, { refusedLink: error.status === 401 }); }));
}

function Page({ route, onAdd }) {
  const page = pageOf(route.path);
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
    <${page.content} key=${`${page.path} ${route.path[1] || ""} ${scope}`} route=${route} />
  </main>`;
}

const Shortcuts = ({ onClose }) => html`<${Dialog} title="Shortcuts" onClose=${onClose}><dl class="facts">
  ${SHORTCUTS.map(([key, meaning]) => html`<dt key=${key}><kbd>${key}</kbd></dt><dd>${meaning}</dd>`)}</dl>
  <div class="buttons"><button type="button" onClick=${onClose}>Close</button></div></${Dialog}>`;

function Dashboard({ route, login: who, onLogout }) {
  const [layer, setLayer] = useState(null);
  const close = () => setLayer(null);
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
    ${layer === "search" && html`<${Palette} onClose=${close} />`}
    ${layer === "help" && html`<${Shortcuts} onClose=${close} />`}
    ${layer === "add" && html`<${AddMemory} onClose=${close} />`}`;
}

function App() {
  const route = useRoute();
  const [who, setWho] = useState(null);
  const [problem, setProblem] = useState(null);
  const [refused, setRefused] = useState(false);
  const enter = useCallback(() => authenticate().then((found) => { setProblem(null); setWho(found); },
    (error) => { setRefused(error.refusedLink); if (error.status === 401) setWho(false); else setProblem(error); }), []);
  useEffect(() => { whenUnauthorized(() => setWho(false)); enter(); }, []);
  useReconnected(useCallback(() => { if (problem) enter(); }, [problem]));
  const leave = () => logout().then(() => setWho(false), toastError);
  if (problem) return html`<main><h1>Memotherm</h1><${ErrorNotice} error=${problem} retry=${enter} /></main>`;
  if (who === null) return html`<main><${Skeleton} rows=${6} /></main>`;
  if (who === false) return html`<${LoginPage} refused=${refused} onLogin=${setWho} />`;
  return html`<${Login.Provider} value=${who}><${Dashboard} route=${route} login=${who} onLogout=${leave} /><${Confirmations} /><${Toasts} /></${Login.Provider}>`;
}

render(html`<${App} />`, document.getElementById("app"));
