// The address, which has the state of a page (#/page/part?name=value), and keys that work wherever the reader is.
import { useEffect, useRef, useState } from "./vendor/htm-preact.module.js";

export function parseRoute(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { path: path.split("/").filter(Boolean).map(decodeURIComponent), params: new URLSearchParams(query) };
}

// Return the address of a page. Values that are empty are left out; the scope and the period are those of the current address.
export function hrefOf(path, params = {}) {
  const here = parseRoute().params;
  const kept = ["scope", "period"].filter((name) => here.get(name)).map((name) => [name, here.get(name)]);
  const given = Object.entries({ ...Object.fromEntries(kept), ...params });
  const query = new URLSearchParams(given.filter(([, value]) => value !== "" && value !== null && value !== undefined));
  const text = query.toString();
  return `#/${[].concat(path).map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export function navigate(path, params = {}, { replace = false } = {}) {
  const address = hrefOf(path, params);
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

// Change some parameters of the current address, and keep the others.
export function setParams(changes, { replace = true } = {}) {
  const { path, params } = parseRoute();
  navigate(path, { ...Object.fromEntries(params), ...changes }, { replace });
}

export function useRoute() {
  const [route, setRoute] = useState(parseRoute);
  const seen = useRef(location.hash);
  useEffect(() => {
    const update = () => setRoute(parseRoute());
    // The address may have changed between the first rendering and this effect.
    if (location.hash !== seen.current) update();
    addEventListener("hashchange", update);
    addEventListener("popstate", update);
    return () => { removeEventListener("hashchange", update); removeEventListener("popstate", update); };
  }, []);
  return route;
}

// Return a parameter of the address and a function that changes it.
export function useParam(name, fallback = "") {
  const { params } = useRoute();
  return [params.get(name) ?? fallback, (value) => setParams({ [name]: value === fallback ? "" : value })];
}

// The keys as the help shows them.
export const SHORTCUTS = [
  ["⌘K or Ctrl K", "Search memories and pages"], ["/", "Search on this page"], ["n", "Add a memory"], ["?", "Show these shortcuts"],
  ["↑ ↓", "Go to another row of a table, or to its memory beside it"], ["Space", "Choose the row"], ["Enter", "Open the memory of the row"], ["e", "Edit the memory of the row, or the open one"],
  ["Delete", "Forget the memory of the row"], ["j k", "Go to another conflict"], ["1 2 b", "Keep its first memory, its second one, or both"],
  ["Esc", "Close the open panel or dialog, like a click outside it"],
];

// Whether a key belongs to the browser, to a field that the reader types into, or to an open dialog.
function isTyping(event) {
  const target = event.target;
  return event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented
    || target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName) || document.querySelector("dialog[open]") !== null;
}

// Call the function of a key; the key is not typed into what the function opens.
export function handleKey(event, actions) {
  if (isTyping(event) || !Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
}

// Handle keys of the whole page: `actions` by key, and `search` for ⌘K and Ctrl K, which work in fields, too.
export function useKeys(actions, search = null) {
  // The functions of what is shown: effects run later than that.
  const shown = useRef(null);
  shown.current = { actions, search };
  useEffect(() => {
    const handle = (event) => {
      const { actions, search } = shown.current;
      const withCommand = (event.metaKey || event.ctrlKey) && !event.altKey && !event.shiftKey;
      if (search && withCommand && event.key.toLowerCase() === "k" && !document.querySelector("dialog[open]")) {
        event.preventDefault();
        search();
      } else handleKey(event, actions);
    };
    addEventListener("keydown", handle);
    return () => removeEventListener("keydown", handle);
  }, []);
}
