// The ledger by day: what was stored, edited, moved and forgotten, by whom and why, each with undo.
import { html } from "../vendor/htm-preact.module.js";
import { done, EVENT_KINDS, forgetText, Run, runsByDay, useLedger } from "../changes.js";
import { allPages, Empty, ErrorNotice, Exports, SelectFilter, Skeleton, TextFilter } from "../controls.js";
import { hrefOf, useRoute } from "../route.js";
import { useEvents } from "../server.js";

const RUNS = 30;
const FILTERS = ["action", "actor", "rule", "day"];

// The filters of the address as the route takes them; a day is one of the reader's zone.
function queryOf(params) {
  const [action, actor, rule, date] = FILTERS.map((name) => params.get(name));
  const since = date ? new Date(`${date}T00:00`) : null, until = date ? new Date(`${date}T00:00`) : null;
  until?.setDate(until.getDate() + 1);
  return { action, actor, rule, since: since?.toISOString(), until: until?.toISOString() };
}

// Values of the events that were read, as suggestions.
const Suggestions = ({ id, events, name }) => html`<datalist id=${id}>${[...new Set(events.map((event) => event[name]).filter(Boolean))].sort().map((value) => html`<option key=${value} value=${value} />`)}</datalist>`;

export function Activity() {
  const { params } = useRoute();
  const query = queryOf(params);
  const ledger = useLedger(query, RUNS);
  const reload = () => ledger.read(null);
  useEvents(reload, { concerns: (event) => { forgetText(event.id); return true; } });
  const days = runsByDay(ledger);
  return html`<div class="filters">
      <${SelectFilter} name="action" label="What" options=${[["", "everything"], ...EVENT_KINDS.map((action) => [action, done(action)])]} />
      <${TextFilter} name="actor" label="By" type="search" placeholder="anybody" list="actors" /><${Suggestions} id="actors" events=${ledger.events} name="actor" />
      <${TextFilter} name="rule" label="Rule" type="search" placeholder="any rule" list="rules" /><${Suggestions} id="rules" events=${ledger.events} name="rule" />
      <${TextFilter} name="day" label="Day" type="date" /><${Exports} name="activity" rows=${() => allPages("/events", { ...query, include_narrower: true }, "events")} /></div>
    ${ledger.error && html`<${ErrorNotice} error=${ledger.error} retry=${reload} />`}
    ${days.map(([name, runs]) => html`<section key=${name} aria-label=${name}><h2 class="day">${name}</h2>
      <ol class="plain">${runs.map((run) => html`<${Run} key=${run.events[0].seq} ...${run} onChange=${reload} />`)}</ol></section>`)}
    ${ledger.loading && !days.length && html`<${Skeleton} rows=${8} />`}
    ${!ledger.loading && !days.length && !ledger.error && html`<${Empty} title="Nothing was changed here.">${FILTERS.some((name) => params.get(name)) ? html`<a href=${hrefOf(["activity"])}>Show everything</a>.` : "Changes by you and your agents appear here."}</${Empty}>`}
    ${ledger.cursor && html`<div class="buttons"><button type="button" disabled=${ledger.loading} onClick=${() => ledger.read(ledger.cursor)}>Show older</button></div>`}`;
}
