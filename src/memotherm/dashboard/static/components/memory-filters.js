// The filters of memories besides the tier, in a form that opens below its button.
import { html, useState } from "../html.js";
import { PRIORITIES } from "../actions.js";
import { post } from "../api.js";
import { number } from "../format.js";
import { useLoaded } from "../loading.js";
import { containing } from "../search.js";
import { KINDS } from "./add-memory.js";
import { SelectFilter, TextFilter } from "./filters.js";

const RETENTIONS = [["active", "active"], ["proposed", "proposed"], ["archived", "archived"], ["deleted", "forgotten"], ["any", "any"]];
const ORDERS = [["newest", "newest"], ["oldest", "oldest"], ["updated", "last updated"], ["used", "last used"], ["most_used", "most used"], ["largest", "largest"], ["smallest", "smallest"]];
export const FILTERS = ["tier", "kind", "tag", "priority", "retention", "since", "until", "where"];
const any = (names) => [["", "any"], ...names.map((name) => [name, name])];

const checkWhere = (text) => {
  if (!text.trim()) return "";
  try {
    const value = JSON.parse(text);
    return value && typeof value === "object" && !Array.isArray(value) ? "" : 'Write an object, such as {"status": "open"}.';
  } catch {
    return 'Write JSON, such as {"status": "open"}.';
  }
};

// The filters of the address as the routes take them.
export function filtersOf(params) {
  const given = ["tier", "kind", "priority", "retention", "since", "until"].filter((name) => params.get(name)).map((name) => [name, params.get(name)]);
  const where = params.get("where") || "";
  return {
    ...Object.fromEntries(given),
    ...(params.get("tag") ? { tags: [params.get("tag")] } : {}),
    ...(where && !checkWhere(where) ? { where: JSON.parse(where) } : {}),
  };
}

const FACETS = { kind: KINDS, priority: PRIORITIES, retention: RETENTIONS.map(([name]) => name) };

// Return how many memories each choice of a filter would show, the other filters as they are.
async function countsOf(given, text) {
  const counted = async (name, value) => (await post("/memories:count", { ...(text ? containing(text, given) : given), include_narrower: true, [name]: value })).count;
  const found = await Promise.all(Object.entries(FACETS).map(async ([name, values]) => [name, new Map(await Promise.all(values.map(async (value) => [value, await counted(name, value)])))]));
  return Object.fromEntries(found);
}

export function FilterForm({ params }) {
  const [open, setOpen] = useState(false);
  const given = filtersOf(params), text = params.get("q") || "";
  const counts = useLoaded(() => (open ? countsOf(given, text) : Promise.resolve({})), [open, JSON.stringify(given), text]);
  const counted = (name, options) => options.map(([value, label]) => { const count = counts.value?.[name]?.get(value); return [value, count === undefined ? label : `${label} (${number(count)})`]; });
  return html`<details class="popover" onToggle=${(event) => setOpen(event.currentTarget.open)}><summary class="button chip">Filter and sort</summary><div role="group" aria-label="Filters">
  <${SelectFilter} name="kind" label="Kind" options=${counted("kind", any(KINDS))} />
  <${TextFilter} name="tag" label="Tag" />
  <${SelectFilter} name="priority" label="Priority" options=${counted("priority", any(PRIORITIES))} />
  <${SelectFilter} name="retention" label="Retention" options=${counted("retention", RETENTIONS)} fallback="active" />
  <${TextFilter} name="since" label="Stored since" type="date" />
  <${TextFilter} name="until" label="Stored until" type="date" />
  <${TextFilter} name="where" label="Metadata" placeholder='{"status": "open"}' check=${checkWhere} />
  <${SelectFilter} name="order" label="Order" options=${ORDERS} fallback="newest" />
</div></details>`;
}
