// All that talks to the server: its routes, its events, who is logged in, and whether it responds.
import { createContext, useCallback, useContext, useEffect, useRef, useState } from "./vendor/htm-preact.module.js";
import { navigate, parseRoute } from "./route.js";

// While the server does not respond, pages keep what they show, and load it again when it is back.
const RETRY_MILLISECONDS = 2000;
const LOST = "memotherm:lost";
export const BACK = "memotherm:back";
let lost = false;

// The server cannot be reached: nobody knows whether it has done what the reader wanted.
export class Unreachable extends Error {
  constructor() {
    super("The server does not respond. What you were changing may not be saved.");
    this.name = "Unreachable";
  }
}

// Ask whether the server is back.
export async function tryAgain() {
  try {
    await fetch("/health", { cache: "no-store", credentials: "same-origin" });
  } catch {
    return;
  }
  if (!lost) return;
  lost = false;
  dispatchEvent(new Event(BACK));
}

// A request has failed without a response: ask until there is one.
export function connectionLost() {
  if (lost) return;
  lost = true;
  dispatchEvent(new Event(LOST));
  const poll = () => tryAgain().then(() => { if (lost) setTimeout(poll, RETRY_MILLISECONDS); });
  setTimeout(poll, RETRY_MILLISECONDS);
}

// Call a function whenever the server is back.
export function useReconnected(run) {
  useEffect(() => {
    addEventListener(BACK, run);
    return () => removeEventListener(BACK, run);
  }, [run]);
}

export function useIsLost() {
  const [shown, setShown] = useState(lost);
  useEffect(() => {
    const update = () => setShown(lost);
    addEventListener(LOST, update);
    addEventListener(BACK, update);
    return () => { removeEventListener(LOST, update); removeEventListener(BACK, update); };
  }, []);
  return shown;
}

// Calls of the REST routes of this server. The cookie of the login authenticates them.

export const TIERS = ["hot", "warm", "cold"];
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
class Problem extends Error {
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
//   query: parameters of the address, lists as several of a name; null and empty ones are left out.
//   body: a value to send as JSON.
//   scope: the fields of a scope; default: that of the address.
//   version: change only this version of a memory (If-Match).
//   key: the Idempotency-Key of a POST; default: a new one.
async function send(method, path, { query = {}, body, scope, version, key, headers = {}, signal } = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given.flatMap(([name, value]) => [value].flat().map((each) => [name, each]))).toString();
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
async function call(method, path, options) {
  const response = await send(method, path, options);
  return response.status === 204 ? null : response.json();
}

// What was asked for in the scope of the address before the page that needs it was loaded: an answer is given once.
const ahead = new Map();
const nameOf = (path, query) => JSON.stringify([path, query, currentScope()]);
export function get(path, query = {}, options = {}) {
  const name = options.scope === undefined ? nameOf(path, query) : "", asked = ahead.get(name);
  ahead.delete(name);
  return asked ?? call("GET", path, { query, ...options });
}
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
const loginStatus = () => get("/login", {}, { scope: {} });
export const logout = () => call("DELETE", "/login", { scope: {} });

const asked = (request, refused = false) => request.then((who) => ({ who }), (error) => ({ error, refused: refused && error.status === 401 }));

// Exchange the one-time token of the address for the cookie, and remove it from the address.
// Return {who}, or {error, refused}: whether the token was.
export async function authenticate() {
  const { path, params } = parseRoute();
  const token = params.get("token");
  if (!token) return asked(loginStatus());
  params.delete("token");
  navigate(path, Object.fromEntries(params), { replace: true });
  // A second use of the same link is refused; the browser may be logged in already.
  return asked(login(token).catch(loginStatus), true);
}

// Asked for while the other modules are loaded: who is logged in, and what the first page shows.
const FIRST = [["/receipts", { limit: 1, entries: false }], ["/status", { include_narrower: true }], ["/scopes", {}], ["/attention", {}]];
function askAhead() {
  if (parseRoute().path.length) return;
  for (const [path, query] of FIRST) {
    const asked = get(path, query);
    // Whoever takes it is told of an error.
    asked.catch(() => {});
    ahead.set(nameOf(path, query), asked);
  }
}
const withToken = parseRoute().params.has("token");
export const entered = authenticate();
if (withToken) entered.then(({ who }) => who && askAhead());
else askAhead();

// Search for memories: those that contain the words come first, then those that are similar in meaning.

const MOST_SIMILAR = 50;
// A hit is similar if it has this part of the relevance of the best one, and at least so much.
const LEAST_SHARE = 0.5, LEAST = 0.15;

export const containing = (text, filters) => ({ ...filters, contains: text, include_narrower: true });

// Return the memories that are similar to a text and do not contain it, best first. Nothing is logged.
export async function similar(text, { tier, kind, ...filters } = {}) {
  // A priority and a recall have no filter in common.
  const { priority, ...rest } = filters;
  const found = await post("/recall", { query: text, limit: MOST_SIMILAR, track: false, include_narrower: true, tiers: tier ? [tier] : TIERS, ...(kind ? { kinds: [kind] } : {}), ...rest });
  const hits = [...found.pinned, ...found.items].sort((one, other) => other.parts.relevance - one.parts.relevance);
  const least = Math.max(LEAST, LEAST_SHARE * (hits[0]?.parts.relevance ?? 0));
  const words = text.toLowerCase();
  return hits.filter((hit) => hit.parts.relevance >= least && !hit.content.toLowerCase().includes(words) && (!priority || hit.priority === priority));
}

// Return both kinds, at most `limit` that contain the text.
export async function search(text, filters, limit) {
  const [found, near] = await Promise.all([post("/memories:find", { ...containing(text, filters), limit }), similar(text, filters)]);
  return [...found.memories, ...near];
}

// The events of the server as they are recorded. `fetch` instead of EventSource, which sends no scope.

// The number of the last event that is known here: what is loaded afterwards shows what it changed.
let newestEvent = 0;
entered.then(({ who }) => { newestEvent = Math.max(newestEvent, who?.events ?? 0); });

async function* messages(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
      if (data.length) yield JSON.parse(data.join("\n"));
    }
  }
}

// Call a function with each event, and without one if there were some before the server began to send them.
async function follow(path, query, signal, onEvent) {
  let last = null;
  const loaded = newestEvent;
  while (!signal.aborted) {
    try {
      const headers = { accept: "text/event-stream", ...(last === null ? {} : { "last-event-id": String(last) }) };
      const response = await send("GET", path, { headers, signal, query });
      for await (const event of messages(response)) {
        // The first message has no action: it says after which event the stream begins.
        if (event.action || (last === null && event.seq > loaded)) onEvent(event.action ? event : null);
        last = event.seq;
        newestEvent = Math.max(newestEvent, last);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401) return;
      if (error instanceof TypeError) connectionLost();
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MILLISECONDS));
  }
}

// Call a function after new events, once for those that come together, while the component is shown.
//   concerns: which events count.
export function useEvents(run, { delay = 500, concerns = () => true } = {}) {
  const newest = useRef(null);
  newest.current = { run, concerns, delay };
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const receive = (event) => {
      if (event && !newest.current.concerns(event)) return;
      clearTimeout(timer);
      timer = setTimeout(() => newest.current.run(), newest.current.delay);
    };
    follow("/events/stream", { include_narrower: true }, abort.signal, receive);
    return () => { abort.abort(); clearTimeout(timer); };
  }, []);
}

// Load a value when the component appears and whenever `inputs` change.
// Return {value, error, loading, reload}; while it loads again, the former value stays.
export function useLoaded(load, inputs = []) {
  const [state, setState] = useState({ value: undefined, error: null, loading: true });
  const newest = useRef(0);
  const run = useCallback(() => {
    const number = ++newest.current;
    setState((before) => ({ ...before, loading: true }));
    return load().then(
      (value) => number === newest.current && setState({ value, error: null, loading: false }),
      (error) => number === newest.current && setState((before) => ({ ...before, error, loading: false })),
    );
  }, inputs);
  useEffect(() => { run(); return () => { newest.current++; }; }, [run]);
  useReconnected(run);
  return { ...state, reload: run };
}

// Who is logged in, for every component: {key, scope, trust, read_only, cookie}.

export const Login = createContext({ key: null, scope: {}, trust: "agent", read_only: true, cookie: false });
export const useLogin = () => useContext(Login);
// Whether the reader may change memories.
export const useWritable = () => !useLogin().read_only;
