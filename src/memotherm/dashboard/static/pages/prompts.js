// What prompts have had: sessions, their turns, and for each turn what was in it, what was not and why.
import { html, useMemo } from "../html.js";
import { formatScope, get } from "../api.js";
import { clock, count, dayName, number, titleOf, tokens } from "../format.js";
import { Empty, Loaded, ScopeName, Time } from "../components/basics.js";
import { allPages, Exports } from "../components/export.js";
import { ReceiptDetail } from "../components/receipt.js";
import { useEvents } from "../live.js";
import { useLoaded } from "../loading.js";
import { hrefOf, useParam, useRoute } from "../route.js";
import { sessionNames } from "../sessions.js";

const PAGE = 40, LARGEST = 1000;

// Return the sessions of receipts, newest first, each with its turns and tokens.
function sessionsOf(receipts) {
  const sessions = new Map();
  for (const receipt of receipts) {
    const key = formatScope(receipt.scope);
    const session = sessions.get(key) || { id: key, scope: receipt.scope, turns: [], tokens: 0 };
    session.turns.push(receipt);
    session.tokens += receipt.tokens;
    sessions.set(key, session);
  }
  return [...sessions.values()];
}

const Turn = ({ receipt, params, chosen }) => html`<li><a href=${hrefOf(["prompts"], { ...Object.fromEntries(params), receipt: receipt.number, memory: "" })} aria-current=${receipt.number === chosen ? "true" : undefined}>
  <span class="line">${receipt.query ? titleOf(receipt.query) : "Start of the session"}</span>
  <span class="hint">${clock(receipt.at)} · ${number(receipt.tokens)} of ${tokens(receipt.budget)}</span></a></li>`;

// Return a page of turns, and the names of their sessions: for those of its last day, the turns before it are read as well.
async function load(cursor) {
  const page = await get("/receipts", { limit: PAGE, cursor, entries: false });
  const read = [...page.receipts];
  const last = read.at(-1);
  for (let next = page.cursor; next && dayName(read.at(-1).at) === dayName(last.at);) {
    const older = await get("/receipts", { limit: LARGEST, cursor: next, entries: false });
    read.push(...older.receipts);
    next = older.cursor;
  }
  return { ...page, names: sessionNames(read) };
}

export function Prompts() {
  const { params } = useRoute();
  const [wanted] = useParam("receipt", "last");
  const [page] = useParam("page");
  const state = useLoaded(() => load(page), [page]);
  useEvents(state.reload);
  const sessions = useMemo(() => sessionsOf(state.value?.receipts || []), [state.value]);
  // The address may ask for the last turn without knowing its number.
  const chosen = wanted === "last" ? state.value?.receipts[0]?.number : Number(wanted);
  return html`<${Loaded} state=${state} rows=${8}>${({ receipts, names, cursor: next }) => (receipts.length === 0
    ? html`<${Empty} title="No prompt has had memories here."><code>memotherm install claude-code</code> connects an agent; <code>memotherm context</code> makes one by hand. Turns are kept for the days of <code>log_days</code>.</${Empty}>`
    : html`<div class="grid side"><nav class="turns" aria-label="Turns">
        ${sessions.map((session) => html`<section key=${session.id}><h2><${ScopeName} scope=${session.scope} session=${names.get(session.id)} /></h2><p class="hint"><${Time} at=${session.turns[0].at} text=${dayName(session.turns[0].at)} /> · ${count(session.turns.length, "turn")} · ${tokens(session.tokens)}</p>
          <ol class="plain">${session.turns.map((receipt) => html`<${Turn} key=${receipt.number} receipt=${receipt} params=${params} chosen=${chosen} />`)}</ol></section>`)}
        <div class="buttons"><${Exports} name="turns" rows=${() => allPages("/receipts", { entries: false }, "receipts")} />${page && html`<a href=${hrefOf(["prompts"], { page: "" })}>Newest turns</a>`}${next && html`<a href=${hrefOf(["prompts"], { page: next })}>Older turns</a>`}</div></nav>
      ${chosen !== undefined && html`<${ReceiptDetail} key=${chosen} receiptNumber=${chosen} names=${names} />`}</div>`)}</${Loaded}>`;
}
