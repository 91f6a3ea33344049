// What prompts have had: sessions, their turns, and for each turn what was in it, what was not and why.
import { html, useMemo } from "../vendor/htm-preact.module.js";
import { MemoryTitle } from "../changes.js";
import { ContextBar, ContextText, Entries, Included, leftOutGroups, partOf } from "../context.js";
import { allPages, Empty, Exports, Loaded, MemoryLink, ScopeName, TextFilter, Time } from "../controls.js";
import { clock, count, dayName, number, sessionNames, titleOf, tokens } from "../format.js";
import { hrefOf, useParam, useRoute } from "../route.js";
import { formatScope, get, post, readMemory, useEvents, useLoaded } from "../server.js";

const ID = /^mem_[0-9a-z]{26}$/;
const MOST_ANSWERS = 8;
const STATES = { included: "In the prompt", left_out: "Left out", not_considered: "Not considered" };

// Return the memories that a text may mean: that with the id, those that contain it, hidden ones included, or the best hits.
async function candidates(text) {
  if (ID.test(text)) return [await readMemory(text).catch(() => ({ id: text, content: text }))];
  const [containing, recalled] = await Promise.all([
    post("/memories:find", { contains: text, include_narrower: true, retention: "any", limit: MOST_ANSWERS }),
    post("/recall", { query: text, limit: MOST_ANSWERS, tiers: ["hot", "warm", "cold"], include_narrower: true, track: false }),
  ]);
  const found = new Map([...containing.memories, ...recalled.items].map((memory) => [memory.id, memory]));
  return [...found.values()].slice(0, MOST_ANSWERS);
}

async function answers(receipt, text) {
  const memories = await candidates(text);
  return Promise.all(memories.map(async (memory) => ({ memory, answer: await get(`/receipts/${receipt}/memories/${memory.id}`) })));
}

// What helps against a reason.
const HELP = {
  budget: (receipt, answer) => html`${answer.fits_at !== null && ` It enters at ${tokens(answer.fits_at)} now.`}${" "}<a href=${hrefOf(["playground"], { q: receipt.query ?? "", budget: receipt.budget, scope: formatScope(receipt.scope) })}>Try other budgets</a>`,
  given: (_, answer) => answer.given_in !== null && html`${" "}It was in <a href=${hrefOf(["prompts"], { receipt: answer.given_in })}>turn ${answer.given_in}</a>.`,
};

const Answer = ({ memory, answer, receipt }) => html`<li class="answer ${answer.state}"><strong>${STATES[answer.state]}</strong>: ${answer.reason}.${HELP[answer.fits_at === null ? answer.rule : "budget"]?.(receipt, answer)}
  <p><${MemoryLink} id=${memory.id}>${titleOf(memory.content)}</${MemoryLink}></p></li>`;

function Question({ receipt }) {
  const [text] = useParam("memory");
  const state = useLoaded(() => (text ? answers(receipt.number, text) : Promise.resolve(null)), [receipt.number, text]);
  return html`<form role="search" onSubmit=${(event) => event.preventDefault()}>
      <${TextFilter} name="memory" label="Why was a memory in this prompt, or not? Its words or its id" type="search" /></form>
    ${text && html`<${Loaded} state=${state}>${(found) => found && (found.length
      ? html`<ul class="answers" aria-live="polite">${found.map((each) => html`<${Answer} key=${each.memory.id} ...${each} receipt=${receipt} />`)}</ul>`
      : html`<${Empty} title="No memory here has these words." />`)}</${Loaded}>`}`;
}

// What this turn had that the one before did not, and what it no longer had.
function Difference({ receipt, before }) {
  const ids = (turn) => new Set(turn.included.map((entry) => entry.id));
  const now = ids(receipt), then = ids(before);
  const added = [...now].filter((id) => !then.has(id)), left = [...then].filter((id) => !now.has(id));
  return html`<p>${number(added.length)} new, ${number(left.length)} no longer sent, since <a href=${hrefOf(["prompts"], { receipt: before.number })}>turn ${before.number}</a>.</p>
    <ul class="plain rows diff">${added.map((id) => html`<li key=${id}><ins>+</ins> <${MemoryTitle} id=${id} /></li>`)}${left.map((id) => html`<li key=${id}><del>−</del> <${MemoryTitle} id=${id} /></li>`)}</ul>`;
}

function SinceTurnBefore({ receipt }) {
  const state = useLoaded(() => get("/receipts", { limit: 1, cursor: `before-${receipt.number}` }, { scope: receipt.scope }));
  return html`<${Loaded} state=${state}>${({ receipts: [before] }) => (before
    ? html`<${Difference} receipt=${receipt} before=${before} />`
    : html`<p class="hint">This is the first turn of its session.</p>`)}</${Loaded}>`;
}

// A receipt and the text of its context.
async function loadTurn(number) {
  const [receipt, sent] = await Promise.all([get(`/receipts/${number}`), get(`/receipts/${number}/context`)]);
  return { receipt, sent };
}

function ReceiptDetail({ receiptNumber, names }) {
  const [part] = useParam("part");
  const state = useLoaded(() => loadTurn(receiptNumber), [receiptNumber]);
  return html`<section aria-label="The chosen turn"><${Loaded} state=${state} rows=${8}>${({ receipt, sent }) => { const session = names.get(formatScope(receipt.scope)); return html`<div class="grid">
    <div><h2>Turn ${receipt.number}</h2>
      ${receipt.query !== null ? html`<p><q>${receipt.query}</q></p>` : html`<p class="hint">No question: the start of a session, or a prompt whose text is not kept.</p>`}
      <p class="hint"><${Time} at=${receipt.at} />, <${ScopeName} scope=${receipt.scope} session=${session} />, ${number(receipt.tokens)} of ${tokens(receipt.budget)} as ${receipt.format}</p>
      <${ContextBar} receipt=${receipt} /></div>
    <div class="card"><${Question} receipt=${receipt} /></div>
    <div><h3>${sent.exact ? "The context as it was sent" : "The context, made again"}</h3>
      ${!sent.exact && html`<p class="hint">Receipts keep no texts, and memories of this turn were edited or purged since: the text may differ.</p>`}
      ${sent.parts.length ? html`<${ContextText} parts=${sent.parts} included=${receipt.included} selected=${(entry) => entry && partOf(entry) === part} />` : html`<${Empty} title="Nothing was sent.">${leftOutGroups(receipt).filter(([, entries]) => entries.length).map(([title, entries]) => `${title}: ${number(entries.length)}`).join(" · ")}</${Empty}>`}</div>
    <div class="card"><${Included} title="In the prompt" entries=${receipt.included} /></div>
    ${leftOutGroups(receipt).filter(([, entries]) => entries.length).map(([title, entries]) => html`<details key=${title} class="card"><summary><strong>${title}: ${number(entries.length)}</strong></summary>
      <${Entries} entries=${entries} facts=${(entry) => html`<span>${tokens(entry.tokens)}</span>`} /></details>`)}
    <div class="card"><h3>Since the turn before</h3><${SinceTurnBefore} key=${receipt.number} receipt=${receipt} /></div></div>`; }}</${Loaded}></section>`;
}

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
