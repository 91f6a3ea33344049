// One turn: its context as it was sent, the groups, the difference to the turn before, and the answer for any memory.
import { html } from "../html.js";
import { formatScope, get, post, readMemory } from "../api.js";
import { number, titleOf, tokens } from "../format.js";
import { useLoaded } from "../loading.js";
import { hrefOf, useParam } from "../route.js";
import { Empty, Loaded, MemoryLink, ScopeName, Time } from "./basics.js";
import { ContextBar, ContextText, Entries, Included, leftOutGroups, partOf } from "./context.js";
import { MemoryTitle } from "./events.js";
import { TextFilter } from "./filters.js";

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
async function load(number) {
  const [receipt, sent] = await Promise.all([get(`/receipts/${number}`), get(`/receipts/${number}/context`)]);
  return { receipt, sent };
}

export function ReceiptDetail({ receiptNumber, names }) {
  const [part] = useParam("part");
  const state = useLoaded(() => load(receiptNumber), [receiptNumber]);
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
