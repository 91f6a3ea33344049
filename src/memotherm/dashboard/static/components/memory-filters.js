// The filters of memories besides the tier, in a form that opens below its button.
import { html } from "../html.js";
import { PRIORITIES } from "../actions.js";
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

export const FilterForm = () => html`<details class="popover"><summary class="button chip">Filter and sort</summary><div role="group" aria-label="Filters">
  <${SelectFilter} name="kind" label="Kind" options=${any(KINDS)} />
  <${TextFilter} name="tag" label="Tag" />
  <${SelectFilter} name="priority" label="Priority" options=${any(PRIORITIES)} />
  <${SelectFilter} name="retention" label="Retention" options=${RETENTIONS} fallback="active" />
  <${TextFilter} name="since" label="Stored since" type="date" />
  <${TextFilter} name="until" label="Stored until" type="date" />
  <${TextFilter} name="where" label="Metadata" placeholder='{"status": "open"}' check=${checkWhere} />
  <${SelectFilter} name="order" label="Order" options=${ORDERS} fallback="newest" />
</div></details>`;
