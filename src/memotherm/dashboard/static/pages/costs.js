// What prompts cost: tokens injected by day, session and agent, the share of the budget, and what not repeating saves.
import { html, useMemo } from "../vendor/htm-preact.module.js";
import { Chart } from "../chart.js";
import { Empty, Loaded, PeriodFilter, ScopeName, Table, usePeriod, useTypedParam } from "../controls.js";
import { compact, count, day, decimal, number, percent, sessionNames } from "../format.js";
import { formatScope, get, parseScope, useLoaded } from "../server.js";

const PAGE = 1000, MOST_PAGES = 12;
const DAY_SECONDS = 86_400;

// Return the receipts of the last days, and whether there are more than were read.
async function receiptsOf(days) {
  const since = Date.now() - days * DAY_SECONDS * 1000;
  const found = [];
  let cursor = null;
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page = await get("/receipts", { limit: PAGE, cursor, entries: false });
    const recent = page.receipts.filter((receipt) => new Date(receipt.at) >= since);
    found.push(...recent);
    cursor = page.cursor;
    if (!cursor || recent.length < page.receipts.length) return { receipts: found, cut: false };
  }
  return { receipts: found, cut: true };
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

function grouped(receipts, keyOf) {
  const groups = new Map();
  for (const receipt of receipts) {
    const key = keyOf(receipt);
    const group = groups.get(key) || { id: key, turns: 0, tokens: 0, budget: 0, saved: 0 };
    groups.set(key, { ...group, turns: group.turns + 1, tokens: group.tokens + receipt.tokens, budget: group.budget + receipt.budget, saved: group.saved + receipt.given_tokens });
  }
  return [...groups.values()].sort((one, other) => other.tokens - one.tokens);
}

const columnsOf = (label, money, cell = (group) => group.id) => [
  { name: "name", label, cell: (group) => html`<div class="named">${cell(group)}</div>` }, { name: "turns", label: "Turns", number: true, cell: (group) => number(group.turns) },
  { name: "tokens", label: "Tokens", number: true, cell: (group) => number(group.tokens) },
  { name: "share", label: "Of the budget", number: true, cell: (group) => percent(group.budget ? group.tokens / group.budget : 0) },
  { name: "saved", label: "Not repeated", number: true, cell: (group) => number(group.saved) },
  ...(money ? [{ name: "money", label: "Price", number: true, cell: (group) => money(group.tokens) }] : []),
];

// Who had the prompts: the agents, or the users or projects of a store that names no agent.
const WHO = ["agent", "user", "project"];
const whoOf = (receipts) => WHO.find((field) => receipts.some(({ scope }) => scope[field] !== undefined)) ?? WHO[0];

const priceOf = (text) => { const price = Number(text.replace(",", ".")); return text && Number.isFinite(price) && price >= 0 ? price : null; };

function Report({ receipts, cut, days, price }) {
  const money = price === null ? null : (value) => { const amount = (value / 1e6) * price; return decimal(amount, amount && amount < 1 ? 4 : 2); };
  const chart = useMemo(() => {
    // The days of the reader's zone, each by its noon: a day may have 23 or 25 hours.
    const times = Array.from({ length: days }, (_, index) => new Date().setHours(12, 0, 0, 0) / 1000 - (days - 1 - index) * DAY_SECONDS);
    const used = new Map();
    for (const receipt of receipts) used.set(day(receipt.at), (used.get(day(receipt.at)) ?? 0) + receipt.tokens);
    return { times, series: [{ label: "tokens in prompts", colour: "one", values: times.map((time) => used.get(day(time * 1000)) ?? 0) }] };
  }, [receipts, days]);
  const names = useMemo(() => sessionNames(receipts), [receipts]);
  const who = whoOf(receipts);
  const used = sum(receipts.map((receipt) => receipt.tokens)), saved = sum(receipts.map((receipt) => receipt.given_tokens)), budget = sum(receipts.map((receipt) => receipt.budget));
  return html`${cut && html`<p class="notice">The newest ${number(receipts.length)} turns are counted; there were more.</p>`}
    <div class="card"><dl class="stats"><div><dt>In prompts</dt><dd>${compact(used)} <small>tokens in ${count(receipts.length, "turn")}</small></dd></div>
      <div><dt>Per turn</dt><dd>${number(receipts.length ? Math.round(used / receipts.length) : 0)} <small>tokens</small></dd></div>
      <div><dt>Of the budget</dt><dd>${percent(budget ? used / budget : 0)}</dd></div>
      <div><dt>Saved by not repeating</dt><dd>${compact(saved)} <small>tokens</small></dd></div>
      ${money && html`<div><dt>Price</dt><dd>${money(used)} <small>${money(saved)} saved</small></dd></div>`}</dl>
      <${Chart} title="Tokens in prompts by day" times=${chart.times} series=${chart.series} single label=${(time) => day(time * 1000)} /></div>
    <div class="grid" style=${{ marginTop: "1.25rem" }}>
      <section><h2>By session</h2><${Table} caption="By session" rows=${grouped(receipts, (receipt) => formatScope(receipt.scope))} most=${20} columns=${columnsOf("Session", money, ({ id }) => html`<${ScopeName} scope=${parseScope(id)} session=${names.get(id)} />`)} /></section>
      <section><h2>By ${who}</h2><${Table} caption=${`By ${who}`} rows=${grouped(receipts, ({ scope }) => scope[who] ?? `(no ${who})`)} most=${20} columns=${columnsOf(who[0].toUpperCase() + who.slice(1), money)} /></section></div>`;
}

export function Costs() {
  const { days, name } = usePeriod();
  const [shown, change, text] = useTypedParam("price");
  const state = useLoaded(() => receiptsOf(days), [days]);
  return html`<div class="filters"><${PeriodFilter} />
      <label class="field">Price per million tokens<input inputmode="decimal" size="10" placeholder="3.00" value=${shown} onInput=${change} /></label></div>
    <${Loaded} state=${state} rows=${8}>${({ receipts, cut }) => (receipts.length ? html`<${Report} receipts=${receipts} cut=${cut} days=${days} price=${priceOf(text)} />`
      : html`<${Empty} title=${`No prompt had memories in ${name}.`}>Connect an agent with <code>memotherm install claude-code</code>, or choose a longer period. Turns are kept for the days of <code>log_days</code>.</${Empty}>`)}</${Loaded}>`;
}
