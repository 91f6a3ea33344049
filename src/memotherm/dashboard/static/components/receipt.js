// One turn: what was in its context, what was left out, and the answer for any memory.
import { html } from "../html.js";
import { get, post } from "../api.js";
import { number, scopeName, shortened, time } from "../format.js";
import { useLoaded } from "../loading.js";
import { hrefOf, useParam } from "../route.js";
import { Loaded, MemoryLink } from "./basics.js";
import { Included, LeftOut } from "./context.js";
import { TextFilter } from "./filters.js";

const ID = /^mem_[0-9a-z]{26}$/;
const MOST_ANSWERS = 8;
const STATES = { included: "In the context", left_out: "Left out", not_considered: "Not considered" };

// Return the memories that a text may mean: that with the id, those that contain it, hidden ones included, or the best hits.
async function candidates(text) {
  if (ID.test(text)) return [{ id: text, content: text, scope: {} }];
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

function Answer({ memory, answer }) {
  return html`<li class="answer ${answer.state}"><strong>${STATES[answer.state]}</strong>: ${answer.reason}.
    ${answer.given_in !== null && html` It was in <a href=${hrefOf(["prompts"], { receipt: answer.given_in })}>turn ${answer.given_in}</a>.`}
    <p class="content"><${MemoryLink} id=${memory.id}>${shortened(memory.content, 160)}</${MemoryLink}></p></li>`;
}

function Question({ receipt }) {
  const [text] = useParam("memory");
  const state = useLoaded(() => (text ? answers(receipt, text) : Promise.resolve(null)), [receipt, text]);
  return html`<form role="search" onSubmit=${(event) => event.preventDefault()}>
      <${TextFilter} name="memory" label="Why was a memory in this context, or not? Its words or its id" type="search" /></form>
    ${text && html`<${Loaded} state=${state}>${(found) => found && (found.length
      ? html`<ul class="answers" aria-live="polite">${found.map((each) => html`<${Answer} key=${each.memory.id} ...${each} />`)}</ul>`
      : html`<p class="empty">No memory here has these words.</p>`)}</${Loaded}>`}`;
}

export function ReceiptDetail({ receiptNumber }) {
  const state = useLoaded(() => get(`/receipts/${receiptNumber}`), [receiptNumber]);
  return html`<section class="card" aria-label="The chosen turn"><${Loaded} state=${state}>${(receipt) => html`
    <h2>Turn ${receipt.number}, ${time(receipt.at)}</h2>
    <p>${scopeName(receipt.scope)}; ${number(receipt.tokens)} of ${number(receipt.budget)} tokens, ${receipt.format}.
      ${receipt.query !== null && html` Prompt: <q>${receipt.query}</q>`}</p>
    <${Question} receipt=${receipt.number} />
    <h3>In the context: ${number(receipt.included.length)}</h3>
    <${Included} entries=${receipt.included} />
    <h3>Left out: ${number(receipt.left_out.length)}</h3>
    <p class="hint">The first memories of each section; the playground shows at which budget each would enter.</p>
    <${LeftOut} entries=${receipt.left_out} budgets=${false} />`}</${Loaded}></section>`;
}
