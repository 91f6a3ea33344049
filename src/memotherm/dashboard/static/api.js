// Calls of the REST routes of this server. The cookie of the login authenticates them.
import { connectionLost, Unreachable } from "./connection.js";
import { parseRoute } from "./route.js";

// The most events of a request.
const MOST_EVENTS = 1000;

// What a field must be, where the server answers with a pattern.
const FORMS = {
  memory_id: "there is no memory with such an id", number: "there is no such turn", cursor: "there is no such page: go back to the first one", job_id: "there is no such job",
  since: "write a day such as 2026-01-31, or 7d for seven days ago", until: "write a day such as 2026-01-31, or 7d for seven days ago",
  kind: "a kind is one word of small letters, digits, - and _",
};

// Return an error about one field in plain words.
function plainly({ where, what }) {
  const field = where.split(".").filter((part) => !["body", "path", "query"].includes(part) && !/^\d+$/.test(part)).at(-1) ?? "";
  if (/match pattern/.test(what)) return `${field}: ${FORMS[field] ?? "this is not written as it must be"}`;
  return `${field}${field && ": "}${what.replace(/^Value error, /, "")}`;
}

// An error of the server (application/problem+json): the message tells the reader what to do, `code` is for programs.
export class Problem extends Error {
  constructor(status, body) {
    super(body.errors?.length ? body.errors.map(plainly).join("; ") : body.detail || body.title || `The server responded with ${status}.`);
    this.name = "Problem";
    this.status = status;
    this.code = body.code || "error";
  }
}

let onUnauthorized = () => {};
export function whenUnauthorized(handler) { onUnauthorized = handler; }

// Return the header Memotherm-Scope for the fields of a scope; the tenant is that of the login.
export function formatScope(scope) {
  return Object.entries(scope).filter(([name]) => name !== "tenant")
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join(";");
}

export function parseScope(text) {
  return Object.fromEntries(text.split(";").filter(Boolean).map((part) => {
    const at = part.indexOf("=");
    return [part.slice(0, at), decodeURIComponent(part.slice(at + 1))];
  }));
}

function currentScope() { return parseRoute().params.get("scope") || ""; }

// Send a request and return the response. Options:
//   query: parameters of the address; null and empty ones are left out.
//   body: a value to send as JSON.
//   scope: the fields of a scope; default: that of the address.
//   version: change only this version of a memory (If-Match).
//   key: the Idempotency-Key of a POST; default: a new one.
export async function send(method, path, { query = {}, body, scope, version, key, headers = {}, signal } = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given).toString();
  const scopeHeader = scope === undefined ? currentScope() : formatScope(scope);
  const sent = { accept: "application/json", ...headers };
  if (scopeHeader) sent["memotherm-scope"] = scopeHeader;
  if (body !== undefined) sent["content-type"] = "application/json";
  if (version !== undefined) sent["if-match"] = `"${version}"`;
  if (method === "POST") sent["idempotency-key"] = key || crypto.randomUUID();
  const response = await fetch(path + (text ? `?${text}` : ""), {
    method, headers: sent, signal, credentials: "same-origin", cache: "no-store",
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch((error) => {
    if (error.name === "AbortError") throw error;
    connectionLost();
    throw new Unreachable();
  });
  if (!response.ok) {
    const problem = new Problem(response.status, await response.json().catch(() => ({})));
    if (problem.status === 401) onUnauthorized(problem);
    throw problem;
  }
  return response;
}

// Send a request and return the JSON of the response; null if it has none.
export async function call(method, path, options) {
  const response = await send(method, path, options);
  return response.status === 204 ? null : response.json();
}

export const get = (path, query, options = {}) => call("GET", path, { query, ...options });
export const post = (path, body, options = {}) => call("POST", path, { body, ...options });

// Return a memory wherever it is, whatever its retention; this is no use of it.
export const readMemory = (id) => get(`/memories/${encodeURIComponent(id)}`, { include_narrower: true, hidden: true }, { scope: {} });

// Call a route that changes one memory; the result has the number of the event to undo as `version`.
export function change(memory, action, body = {}) {
  const path = `/memories/${encodeURIComponent(memory.id)}`;
  const scope = memory.scope;
  if (action === "forget") return call("DELETE", path, { scope, query: body });
  if (action === "edit") return call("PATCH", path, { scope, body, version: memory.version });
  return post(`${path}/${action}`, body, { scope });
}

// Undo events wherever their memories are, the newest first: `memories` were changed, and `skipped` events were not undone.
export async function undo(seqs) {
  const undone = { memories: [], skipped: [] };
  const newest = [...seqs].sort((one, other) => other - one);
  for (let first = 0; first < newest.length; first += MOST_EVENTS) {
    const found = await post("/events:undo", { events: newest.slice(first, first + MOST_EVENTS), include_narrower: true }, { scope: {} });
    undone.memories.push(...found.memories);
    undone.skipped.push(...found.skipped);
  }
  return undone;
}

export const login = (secret) => call("POST", "/login", { headers: { authorization: `Bearer ${secret}` }, scope: {} });
export const loginStatus = () => get("/login", {}, { scope: {} });
export const logout = () => call("DELETE", "/login", { scope: {} });
