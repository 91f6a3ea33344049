// The ledger by day: what was stored, edited, moved and forgotten, by whom and why, each with undo.
import { html, useCallback, useEffect, useMemo, useRef, useState } from "../html.js";
import { get } from "../api.js";
import { Empty, ErrorNotice, Skeleton } from "../components/basics.js";
import { ACTIONS, done, forgetText, Run, runsOf } from "../components/events.js";
import { allPages, Exports } from "../components/export.js";
import { SelectFilter, TextFilter } from "../components/filters.js";
import { useReconnected } from "../connection.js";
import { dayName } from "../format.js";
import { useEvents } from "../live.js";
import { hrefOf, useRoute } from "../route.js";

// One press of the button reads a small page, and large ones while there are fewer runs than that: a run may be long.
const RUNS = 30, PAGE = 60, LARGEST = 1000, MOST_PAGES = 5;
const FILTERS = ["action", "actor", "rule", "day"];

// The filters of the address as the route takes them; a day is one of the reader's zone.
function queryOf(params) {
  const [action, actor, rule, date] = FILTERS.map((name) => params.get(name));
  const since = date ? new Date(`${date}T00:00`) : null, until = date ? new Date(`${date}T00:00`) : null;
  until?.setDate(until.getDate() + 1);
  return { action, actor, rule, since: since?.toISOString(), until: until?.toISOString() };
}

// Return what was read of the ledger; `read(cursor)` reads more, or begins anew.
function useLedger(query) {
  const [state, setState] = useState({ events: [], cursor: null, loading: true, error: null });
  const generation = useRef(0);
  const read = useCallback(async (before) => {
    const own = ++generation.current;
    setState((now) => ({ ...now, loading: true, error: null }));
    try {
      let found = before ? state.events : [], cursor = before;
      const wanted = runsOf(found).length + RUNS;
      for (let pages = 0; pages < MOST_PAGES; pages++) {
        const page = await get("/events", { ...query, include_narrower: true, limit: pages ? LARGEST : PAGE, cursor });
        found = [...found, ...page.events];
        cursor = page.cursor;
        const enough = !cursor || runsOf(found).length > wanted || pages === MOST_PAGES - 1;
        if (own !== generation.current) return;
        setState({ events: found, cursor, loading: !enough, error: null });
        if (enough) return;
      }
    } catch (error) {
      if (own === generation.current) setState((now) => ({ ...now, loading: false, error }));
    }
  }, [JSON.stringify(query), state.events]);
  return { ...state, read };
}

// Values of the events that were read, as suggestions.
const Suggestions = ({ id, events, name }) => html`<datalist id=${id}>${[...new Set(events.map((event) => event[name]).filter(Boolean))].sort().map((value) => html`<option key=${value} value=${value} />`)}</datalist>`;

export function Activity() {
  const { params } = useRoute();
  const query = queryOf(params);
  const ledger = useLedger(query);
  const reload = () => ledger.read(null);
  useEffect(() => { reload(); }, [JSON.stringify(query)]);
  useEvents(reload, { concerns: (event) => { forgetText(event.id); return true; } });
  useReconnected(reload);
  const days = useMemo(() => {
    const runs = runsOf(ledger.events);
    // The last run may go on in what was not read.
    if (ledger.cursor && runs.length) runs.at(-1).partial = true;
    const found = new Map();
    for (const run of runs) found.set(dayName(run.events[0].at), [...(found.get(dayName(run.events[0].at)) || []), run]);
    return [...found];
  }, [ledger.events, ledger.cursor]);
  return html`<div class="filters">
      <${SelectFilter} name="action" label="What" options=${[["", "everything"], ...ACTIONS.map((action) => [action, done(action)])]} />
      <${TextFilter} name="actor" label="By" type="search" placeholder="anybody" list="actors" /><${Suggestions} id="actors" events=${ledger.events} name="actor" />
      <${TextFilter} name="rule" label="Rule" type="search" placeholder="any rule" list="rules" /><${Suggestions} id="rules" events=${ledger.events} name="rule" />
      <${TextFilter} name="day" label="Day" type="date" /><${Exports} name="activity" rows=${() => allPages("/events", { ...query, include_narrower: true }, "events")} /></div>
    ${ledger.error && html`<${ErrorNotice} error=${ledger.error} retry=${reload} />`}
    ${days.map(([name, runs]) => html`<section key=${name} aria-label=${name}><h2 class="day">${name}</h2>
      <ol class="plain">${runs.map((run) => html`<${Run} key=${run.events[0].seq} ...${run} onChange=${reload} />`)}</ol></section>`)}
    ${ledger.loading && !days.length && html`<${Skeleton} rows=${8} />`}
    ${!ledger.loading && !days.length && !ledger.error && html`<${Empty} title="Nothing was changed here.">${FILTERS.some((name) => params.get(name)) ? html`<a href=${hrefOf(["activity"])}>Show everything</a>.` : "What agents and you store, edit, move and forget appears here."}</${Empty}>`}
    ${ledger.cursor && html`<div class="buttons"><button type="button" disabled=${ledger.loading} onClick=${() => ledger.read(ledger.cursor)}>Show older</button></div>`}`;
}
