// Rows of a listing, loaded by the page as they come into view.
import { post } from "./api.js";
import { containing, similar } from "./search.js";
import { useReconnected } from "./connection.js";
import { useEffect, useRef, useState } from "./html.js";

const PAGE = 100;
const MOST_PAGES = 40;

// Return {count, near, row(index), load(first, last), reload, error} of the memories that match filters, in an order.
// With a text, these contain it, and the `near` rows after them are similar in meaning.
export function useRows(given, order, text = "") {
  const inputs = JSON.stringify([given, order, text]);
  const filters = text ? containing(text, given) : given;
  const [count, setCount] = useState(null);
  const [near, setNear] = useState([]);
  const [error, setError] = useState(null);
  const [, redraw] = useState(0);
  const state = useRef({ pages: new Map(), loading: new Set(), generation: 0, range: [0, PAGE] });
  const fail = (generation) => (problem) => generation === state.current.generation && setError(problem);
  const loadPage = async (number) => {
    const { pages, loading, generation } = state.current;
    if (pages.has(number) || loading.has(number)) return;
    loading.add(number);
    try {
      const found = await post("/memories:find", { ...filters, order, skip: number * PAGE, limit: PAGE, include_narrower: true });
      if (generation !== state.current.generation) return;
      pages.set(number, found.memories);
      // The pages that were not looked at for longest are dropped.
      if (pages.size > MOST_PAGES) pages.delete(pages.keys().next().value);
      redraw((value) => value + 1);
    } catch (problem) {
      fail(generation)(problem);
    } finally {
      loading.delete(number);
    }
  };
  const load = (first, last) => {
    state.current.range = [first, last];
    for (let number = Math.floor(first / PAGE); number <= Math.floor(Math.max(first, last - 1) / PAGE); number++) loadPage(number);
  };
  const reload = () => {
    const before = state.current;
    const generation = before.generation + 1;
    state.current = { pages: new Map(), loading: new Set(), generation, range: before.range };
    setError(null);
    post("/memories:count", { ...filters, include_narrower: true }).then((found) => {
      if (generation === state.current.generation) setCount(found.count);
    }, fail(generation));
    if (text) similar(text, given).then((found) => generation === state.current.generation && setNear(found), fail(generation));
    else setNear([]);
    load(...before.range);
  };
  useEffect(reload, [inputs]);
  useReconnected(reload);
  const row = (index) => (count !== null && index >= count ? near[index - count] : state.current.pages.get(Math.floor(index / PAGE))?.[index % PAGE]);
  return { count, near, row, load: (first, last) => load(first, Math.min(last, count ?? last)), reload, error };
}

// Return all memories that match filters, up to a number.
export async function allRows(filters, order, most) {
  const found = [];
  while (found.length < most) {
    const limit = Math.min(PAGE, most - found.length);
    const { memories } = await post("/memories:find", { ...filters, order, skip: found.length, limit, include_narrower: true });
    found.push(...memories);
    if (memories.length < limit) break;
  }
  return found;
}
