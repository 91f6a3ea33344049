// The dashboard: log in, choose the page of the address, show its parts.
import { html, render, useCallback, useEffect, useRef, useState } from "./html.js";
import { login, loginStatus, logout, whenUnauthorized } from "./api.js";
import { connectionLost, Unreachable, useReconnected } from "./connection.js";
import { ConnectionBanner } from "./components/connection-banner.js";
import { Confirmations } from "./components/dialog.js";
import { ErrorNotice } from "./components/basics.js";
import { ScopeChoice } from "./components/scope.js";
import { Toasts, toastError } from "./components/toast.js";
import { LoginPage } from "./pages/login.js";
import { NAVIGATION, pageOf } from "./pages/index.js";
import { hrefOf, navigate, parseRoute, useRoute } from "./route.js";
import { Login } from "./login.js";

// Exchange the one-time token of the address for the cookie, and remove it from the address.
async function authenticate() {
  const { path, params } = parseRoute();
  const token = params.get("token");
  if (!token) return loginStatus();
  params.delete("token");
  navigate(path, Object.fromEntries(params), { replace: true });
  // A second use of the same link is refused; the browser may be logged in already.
  return login(token).catch(() => loginStatus());
}

function Page({ route }) {
  const page = pageOf(route.path);
  const heading = useRef(null);
  const first = useRef(true);
  useEffect(() => {
    document.title = `${page.title} · Memotherm`;
    if (!first.current) heading.current?.focus();
    first.current = false;
  }, [page]);
  const [Content, setContent] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let current = true;
    setContent(null);
    setError(null);
    page.load().then((found) => current && setContent(() => found), () => {
      // The script of the page did not come: the page is loaded anew when the server is back.
      connectionLost();
      addEventListener("memotherm:back", () => location.reload(), { once: true });
      if (current) setError(new Unreachable());
    });
    return () => { current = false; };
  }, [page]);
  // Another scope is another page: nothing of the former one stays.
  const scope = route.params.get("scope") || "";
  return html`<main id="main" tabindex="-1">
    <h1 ref=${heading} tabindex="-1">${page.title}</h1>
    ${error && html`<${ErrorNotice} error=${error} />`}
    ${Content && html`<${Content} key=${`${page.path} ${route.path[1] || ""} ${scope}`} route=${route} />`}
  </main>`;
}

function Navigation({ route, login: who, onLogout }) {
  const here = pageOf(route.path).path;
  return html`<header class="top">
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>Skip to content</a>
    <a class="brand" href=${hrefOf([""])}>Memotherm</a>
    <nav aria-label="Pages"><ul>${NAVIGATION.map((page) => html`<li key=${page.path}>
      <a href=${hrefOf([page.path])} aria-current=${page.path === here ? "page" : undefined}>${page.title}</a></li>`)}</ul></nav>
    <${ScopeChoice} />
    ${who.read_only && html`<span class="badge">read-only</span>`}
    ${who.cookie && html`<button type="button" class="quiet" onClick=${onLogout}>Log out</button>`}
  </header>`;
}

function App() {
  const route = useRoute();
  const [who, setWho] = useState(null);
  const [problem, setProblem] = useState(null);
  const enter = useCallback(() => authenticate().then((found) => { setProblem(null); setWho(found); }, (error) => (error.status === 401 ? setWho(false) : setProblem(error))), []);
  useEffect(() => { whenUnauthorized(() => setWho(false)); enter(); }, []);
  useReconnected(useCallback(() => { if (problem) enter(); }, [problem]));
  const leave = () => logout().then(() => setWho(false), toastError);
  if (problem) return html`<main><h1>Memotherm</h1><${ErrorNotice} error=${problem} retry=${enter} /></main>`;
  if (who === null) return html`<main><p class="loading" role="status">Loading…</p></main>`;
  if (who === false) return html`<${LoginPage} onLogin=${setWho} />`;
  return html`<${Login.Provider} value=${who}>
    <${Navigation} route=${route} login=${who} onLogout=${leave} />
    <${ConnectionBanner} />
    <${Page} route=${route} />
    <${Confirmations} /><${Toasts} />
  </${Login.Provider}>`;
}

render(html`<${App} />`, document.getElementById("app"));
