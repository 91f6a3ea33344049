// The scope of the whole dashboard, in the address: everything at and below it is shown.
import { html, useMemo } from "../html.js";
import { formatScope, get, parseScope } from "../api.js";
import { compact, scopeName } from "../format.js";
import { useLoaded } from "../loading.js";
import { setParams, useRoute } from "../route.js";
import { useLogin } from "../login.js";

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

export function ScopeChoice() {
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
