// The state of a page in its address: #/page/part?name=value
import { useEffect, useRef, useState } from "./html.js";

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
