// What is stored now: tokens of hot against their limit, tiers over time, today's moves, and what is degraded.
import { html, useMemo, useRef, useState } from "../html.js";
import { get } from "../api.js";
import { TIERS, undoEvent } from "../actions.js";
import { Loaded, MemoryLink, Meter, Tier, Time } from "../components/basics.js";
import { Chart } from "../components/chart.js";
import { Cause, Changes, isMove } from "../components/events.js";
import { SelectFilter } from "../components/filters.js";
import { Table } from "../components/table.js";
import { number, memories as memoriesText, scopeName, shortened } from "../format.js";
import { useEvents } from "../live.js";
import { useLoaded } from "../loading.js";
import { remedyOf } from "../remedies.js";
import { hrefOf, useParam } from "../route.js";
import { useWritable } from "../login.js";
import { FirstSteps } from "./first-steps.js";

const PERIODS = [["1d", "a day"], ["7d", "a week"], ["30d", "30 days"], ["90d", "90 days"], ["365d", "a year"]];
// From the bottom of the chart.
const STACKED = [...TIERS].reverse();
const MOST_MOVES = 50;
const MOST_PAGES = 5;
const MOST_SCOPES = 5;
const LONGEST = 120;
const HISTORY_MILLISECONDS = 30_000;

// The newest moves of today, each with its memory; `known` are the memories that were read before, by event.
async function movesOfToday(known) {
  const today = new Date().setHours(0, 0, 0, 0);
  const moves = [];
  let page = null;
  for (let count = 0; count < MOST_PAGES && moves.length < MOST_MOVES; count++) {
    const found = await get("/events", { include_narrower: true, limit: 100, cursor: page });
    const recent = found.events.filter((event) => new Date(event.at) >= today);
    moves.push(...recent.filter(isMove));
    page = found.cursor;
    if (!page || recent.length < found.events.length) break;
  }
  return Promise.all(moves.slice(0, MOST_MOVES).map(async (event) => {
    if (!known.has(event.seq)) known.set(event.seq, await get(`/memories/${event.id}`, { include_narrower: true, hidden: true }).catch(() => null));
    return { ...event, memory: known.get(event.seq) };
  }));
}

const movesColumns = (writable, reload) => [
  { name: "at", label: "When", cell: (event) => html`<${Time} at=${event.at} />` },
  { name: "memory", label: "Memory", cell: (event) => (event.memory
    ? html`<${MemoryLink} id=${event.id}>${shortened(event.memory.content, LONGEST)}</${MemoryLink}>` : event.id) },
  { name: "change", label: "Change", cell: (event) => html`<${Changes} event=${event} />` },
  { name: "cause", label: "Reason and rule", cell: (event) => html`<${Cause} event=${event} />` },
  ...(writable ? [{ name: "undo", label: "Undo", cell: (event) => html`<button type="button" disabled=${event.action === "purge"}
    aria-label=${`Undo event ${event.seq}`} onClick=${() => undoEvent(event, reload)}>Undo</button>` }] : []),
];

function Tokens({ status, scopes }) {
  const largest = [...scopes].filter((each) => each.hot.items).sort((one, other) => other.hot.tokens - one.hot.tokens).slice(0, MOST_SCOPES);
  const limitOf = (scope) => ("session" in scope ? status.session_hot_limit : status.hot_limit);
  return html`<section class="card" aria-labelledby="hot-tokens"><h2 id="hot-tokens">Hot tokens by scope</h2>
    ${largest.length === 0 && html`<p class="empty">Nothing is hot.</p>`}
    ${largest.map(({ scope, hot }) => html`<${Meter} key=${scopeName(scope)} label=${scopeName(scope)} value=${hot.tokens} limit=${limitOf(scope)}
      text=${`${number(hot.tokens)} of ${number(limitOf(scope))} tokens, ${memoriesText(hot.items)}`} />`)}
  </section>`;
}

function Overview({ status }) {
  return html`<div class="cards">
    ${TIERS.map((tier) => html`<section key=${tier} class="card" aria-label=${tier}>
      <h2><${Tier} tier=${tier} /></h2><p class="figure">${number(status[tier].items)}</p>
      <p>${number(status[tier].tokens)} tokens</p></section>`)}
  </div>
  ${status.degraded.map((notice) => html`<div key=${notice} class="notice warning"><p><strong>Degraded:</strong> ${notice}</p><p>${remedyOf(notice)}</p></div>`)}`;
}

function History({ points, period }) {
  const chart = useMemo(() => ({
    times: points.map((point) => new Date(point.at) / 1000),
    series: STACKED.map((tier) => ({ label: tier, colour: tier, values: points.map((point) => point[tier]) })),
  }), [points]);
  return html`<${Chart} title=${`Memories by tier over ${period}`} times=${chart.times} series=${chart.series} areas />`;
}

export function Now() {
  const [period] = useParam("period", "30d");
  const writable = useWritable();
  const [live, setLive] = useState(false);
  const status = useLoaded(async () => {
    const [found, { scopes }] = await Promise.all([get("/status", { include_narrower: true }), get("/scopes")]);
    return { ...found, scopes };
  });
  const history = useLoaded(() => get("/tiers/history", { since: period, points: 120 }), [period]);
  const known = useRef(new Map());
  const moves = useLoaded(() => movesOfToday(known.current));
  const drawn = useRef(Date.now());
  const reload = () => {
    status.reload();
    moves.reload();
    // The history is read from the whole ledger of the period.
    if (Date.now() - drawn.current < HISTORY_MILLISECONDS) return;
    drawn.current = Date.now();
    history.reload();
  };
  useEvents(reload, { onState: setLive });
  const name = (PERIODS.find(([value]) => value === period) || [null, period])[1];
  return html`<p class="hint" role="status">${live ? "Live: changes appear by themselves." : "Connecting to the event stream…"}</p>
    <${Loaded} state=${status}>${(found) => {
      const stored = found.retention.active + found.retention.archived + found.retention.deleted;
      if (!stored) return html`<${FirstSteps} onStored=${reload} />`;
      return html`<${Overview} status=${found} />
        <div class="beside">
          <section aria-label="Tiers over time">
            <div class="filters"><${SelectFilter} name="period" label="Period" options=${PERIODS} fallback="30d" /></div>
            <${Loaded} state=${history}>${({ points }) => html`<${History} points=${points} period=${name} />`}</${Loaded}>
          </section>
          <${Tokens} status=${found} scopes=${found.scopes} />
        </div>
        <p><a href=${hrefOf(["prompts"], { receipt: "last" })}>Why was a memory (not) in the last prompt?</a></p>
        <h2>Moves today</h2>
        <${Loaded} state=${moves}>${(list) => html`<${Table} caption="Moves today" columns=${movesColumns(writable, reload)} rows=${list}
          empty="No memory has moved today." />`}</${Loaded}>`;
    }}</${Loaded}>`;
}
