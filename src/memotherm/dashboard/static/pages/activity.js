// The ledger by day: what was stored, edited, moved and forgotten, by whom and why, each with undo.
import { html, useCallback, useEffect, useMemo, useRef, useState } from "../html.js";
import { get } from "../api.js";
import { Empty, ErrorNotice, Skeleton } from "../components/basics.js";
import { done, forgetText, Run, runsOf } from "../components/events.js";
import { SelectFilter } from "../components/filters.js";
import { useReconnected } from "../connection.js";
import { day } from "../format.js";
import { useEvents } from "../live.js";
import { hrefOf, useParam } from "../route.js";

// What one press of the button reads: so many runs, in at most so many pages of events. With a filter, the pages are large.
const RUNS = 30, PAGE = 200, LARGEST = 1000, MOST_PAGES = 5;

const isMove = (event) => "tier" in event.changes && event.action !== "remember";

// Return what was read of the ledger; `read(cursor)` reads more, or begins anew.
function useLedger(fits, filtered) {
  const [state, setState] = useState({ events: [], cursor: null, loading: true, error: null });
  const generation = useRef(0);
  const read = useCallback(async (before) => {
    const own = ++generation.current;
    setState((now) => ({ ...now, loading: true, error: null }));
    try {
      let found = before ? state.events : [], cursor = before;
      const runs = () => runsOf(found.filter(fits)).length;
      const wanted = runs() + RUNS;
      for (let pages = 0; pages < MOST_PAGES; pages++) {
        const page = await get("/events", { include_narrower: true, limit: filtered || before ? LARGEST : PAGE, cursor });
        found = [...found, ...page.events];
        cursor = page.cursor;
        const enough = !cursor || runs() > wanted || pages === MOST_PAGES - 1;
        if (own !== generation.current) return;
        setState({ events: found, cursor, loading: !enough, error: null });
        if (enough) return;
      }
    } catch (error) {
      if (own === generation.current) setState((now) => ({ ...now, loading: false, error }));
    }
  }, [fits, filtered, state.events]);
  return { ...state, read };
}

const options = (events, name, all, label = (value) => value) => [["", all], ...[...new Set(events.map((event) => event[name]).filter(Boolean))].sort().map((value) => [value, label(value)])];

export function Activity() {
  const [actor] = useParam("actor");
  const [rule] = useParam("rule");
  const [action] = useParam("action");
  const fits = useCallback((event) => (!actor || event.actor === actor) && (!rule || event.rule === rule) && (!action || (action === "tier" ? isMove(event) : event.action === action)), [actor, rule, action]);
  const ledger = useLedger(fits, Boolean(actor || rule || action));
  const reload = () => ledger.read(null);
  useEffect(() => { reload(); }, [fits]);
  useEvents(reload, { concerns: (event) => { forgetText(event.id); return true; } });
  useReconnected(reload);
  const days = useMemo(() => {
    const runs = runsOf(ledger.events.filter(fits));
    // The last run may go on in what was not read.
    if (ledger.cursor && runs.length) runs.at(-1).partial = true;
    const found = new Map();
    for (const run of runs) found.set(day(run.events[0].at), [...(found.get(day(run.events[0].at)) || []), run]);
    return [...found];
  }, [ledger.events, ledger.cursor, fits]);
  const known = (list, value) => (value && !list.some(([option]) => option === value) ? [...list, [value, value]] : list);
  return html`<div class="filters">
      <${SelectFilter} name="action" label="What" options=${known([...options(ledger.events, "action", "everything", done), ["tier", "Changes of the tier"]], action)} />
      <${SelectFilter} name="actor" label="By" options=${known(options(ledger.events, "actor", "anybody"), actor)} />
      <${SelectFilter} name="rule" label="Rule" options=${known(options(ledger.events, "rule", "any rule"), rule)} /></div>
    ${ledger.error && html`<${ErrorNotice} error=${ledger.error} retry=${reload} />`}
    ${days.map(([name, runs]) => html`<section key=${name} aria-label=${name}><h2 class="day">${name}</h2>
      <ol class="plain">${runs.map((run) => html`<${Run} key=${run.events[0].seq} ...${run} onChange=${reload} />`)}</ol></section>`)}
    ${ledger.loading && !days.length && html`<${Skeleton} rows=${8} />`}
    ${!ledger.loading && !days.length && !ledger.error && html`<${Empty} title="Nothing was changed here.">${actor || rule || action ? html`<a href=${hrefOf(["activity"])}>Show everything</a>.` : "What agents and you store, edit, move and forget appears here."}</${Empty}>`}
    ${ledger.cursor && html`<div class="buttons"><button type="button" disabled=${ledger.loading} onClick=${() => ledger.read(ledger.cursor)}>Show older</button></div>`}`;
}
