// What contexts have injected: sessions, their turns, and for each turn what was in it, what was not and why.
import { html, useMemo } from "../html.js";
import { formatScope, get } from "../api.js";
import { Loaded, ScopeName, Time } from "../components/basics.js";
import { Chart } from "../components/chart.js";
import { ReceiptDetail } from "../components/receipt.js";
import { Table } from "../components/table.js";
import { count, number, scopeName } from "../format.js";
import { useLoaded } from "../loading.js";
import { hrefOf, useParam, useRoute } from "../route.js";

const PAGE = 40;

// Return the sessions of receipts, newest first, each with its turns and tokens.
export function sessionsOf(receipts) {
  const sessions = new Map();
  for (const receipt of receipts) {
    const key = formatScope(receipt.scope);
    const session = sessions.get(key) || { id: key, scope: receipt.scope, turns: 0, tokens: 0, last: receipt.at };
    session.turns += 1;
    session.tokens += receipt.tokens;
    sessions.set(key, session);
  }
  return [...sessions.values()];
}

const here = (params, changes) => hrefOf(["prompts"], { ...Object.fromEntries(params), ...changes });

function Sessions({ receipts, params, chosen }) {
  const sessions = useMemo(() => sessionsOf(receipts), [receipts]);
  return html`<${Table} caption="Sessions" rows=${sessions} columns=${[
    { name: "scope", label: "Session", cell: (session) => html`<a href=${here(params, { of: session.id === chosen ? "" : session.id, receipt: "" })}
      aria-current=${session.id === chosen ? "true" : undefined}>${scopeName(session.scope)}</a>` },
    { name: "turns", label: "Turns", number: true, cell: (session) => number(session.turns) },
    { name: "tokens", label: "Tokens", number: true, cell: (session) => number(session.tokens) },
    { name: "last", label: "Last turn", cell: (session) => html`<${Time} at=${session.last} />` },
  ]} />`;
}

function Turns({ receipts, params, chosen }) {
  return html`<${Table} caption="Turns" rows=${receipts.map((receipt) => ({ ...receipt, id: receipt.number }))} columns=${[
    { name: "at", label: "Turn", cell: (receipt) => html`<a href=${here(params, { receipt: receipt.number })}
      aria-current=${receipt.number === chosen ? "true" : undefined}><${Time} at=${receipt.at} /> (${receipt.number})</a>` },
    { name: "query", label: "Prompt", cell: (receipt) => receipt.query ?? html`<span class="hint">none, or not kept</span>` },
    { name: "scope", label: "Scope", cell: (receipt) => html`<${ScopeName} scope=${receipt.scope} />` },
    { name: "tokens", label: "Tokens", number: true, cell: (receipt) => `${number(receipt.tokens)} of ${number(receipt.budget)}` },
    { name: "in", label: "In", number: true, cell: (receipt) => number(receipt.included.length) },
    { name: "out", label: "Left out", number: true, cell: (receipt) => number(receipt.left_out.length) },
  ]} />`;
}

export function Prompts() {
  const { params } = useRoute();
  const [of] = useParam("of");
  const [wanted] = useParam("receipt");
  const [page] = useParam("page");
  const state = useLoaded(() => get("/receipts", { limit: PAGE, cursor: page }), [page]);
  const shown = useMemo(() => (state.value?.receipts || []).filter((each) => !of || formatScope(each.scope) === of), [state.value, of]);
  const series = useMemo(() => {
    const ordered = [...shown].reverse();
    return {
      times: ordered.map((each) => new Date(each.at).getTime() / 1000),
      lines: [{ label: "tokens", colour: "one", values: ordered.map((each) => each.tokens) }, { label: "budget", colour: "six", values: ordered.map((each) => each.budget) }],
    };
  }, [shown]);
  // The address may ask for the last turn without knowing its number.
  const receipt = wanted === "last" ? state.value?.receipts[0]?.number : wanted;
  return html`<${Loaded} state=${state}>${({ receipts, cursor: next }) => receipts.length === 0
    ? html`<p class="empty">No context was injected here in the days that receipts are kept (<code>receipt_days</code>).
        Contexts of sessions and of <code>memotherm context</code> appear here.</p>`
    : html`
      ${receipt ? html`<${ReceiptDetail} key=${receipt} receiptNumber=${Number(receipt)} />`
        : html`<p><a href=${here(params, { receipt: "last" })}>Why was a memory (not) in the last prompt?</a></p>`}
      <${Chart} title=${`Tokens of ${count(shown.length, "turn")}`} times=${series.times} series=${series.lines} single />
      <div class="beside">
        <section><h2>Turns</h2><${Turns} receipts=${shown} params=${params} chosen=${Number(receipt)} /></section>
        <section><h2>Sessions</h2><${Sessions} receipts=${receipts} params=${params} chosen=${of} /></section>
      </div>
      <div class="buttons">
        ${page && html`<a href=${here(params, { page: "", receipt: "" })}>Newest turns</a>`}
        ${next && html`<a href=${here(params, { page: next, receipt: "" })}>Older turns</a>`}
      </div>`}</${Loaded}>`;
}
