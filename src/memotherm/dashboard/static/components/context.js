// The text of a context as the model sees it, coloured by memory, and its receipt.
import { html } from "../html.js";
import { decimal, number } from "../format.js";
import { MemoryLink, Tier } from "./basics.js";
import { Table } from "./table.js";

// A long table takes most of the time of a page.
const MOST = 100;
const COLOURS = ["one", "two", "three", "four", "five", "seven", "eight"];
export const colourOf = (index) => COLOURS[index % COLOURS.length];

export function ContextText({ of, parts, included, selected, onSelect }) {
  const places = new Map(included.map((entry, index) => [entry.id, index]));
  return html`<div class="content context" tabindex="0" role="region" aria-label=${`The context as the model sees it${of}`}>
    ${parts.map((part, index) => part.id === null ? html`<span key=${index} class="frame">${part.text}</span>`
      : html`<span key=${index} class="part ${colourOf(places.get(part.id))} ${part.id === selected ? "chosen" : ""}"
          onClick=${() => onSelect(part.id)}><span class="mark" aria-hidden="true">${places.get(part.id) + 1}</span>${part.text}</span>`)}
  </div>`;
}

// The memory that enters next with a larger budget: the left-out one with the smallest budget above the current one.
export function nextToEnter(receipt, budget) {
  const waiting = receipt.left_out.filter((entry) => entry.fits_at !== null && entry.fits_at > budget);
  return waiting.sort((one, other) => one.fits_at - other.fits_at)[0] || null;
}

const NAME = { name: "memory", label: "Memory", cell: (entry) => html`<${MemoryLink} id=${entry.id}>${entry.title ?? entry.id}</${MemoryLink}>` };
const REASON = { name: "reason", label: "Why", cell: (entry) => entry.reason };
const TIER = { name: "tier", label: "Tier", cell: (entry) => (entry.tier ? html`<${Tier} tier=${entry.tier} />` : "–") };
const SCORE = { name: "score", label: "Score", number: true, cell: (entry) => (entry.score === null ? "–" : decimal(entry.score)) };

// `of` is the suffix of the names of parts of a page that exist twice; `most` rows are shown at first, most important first.
export function Included({ entries, of = "", coloured = false, most = MOST }) {
  const placeColumn = { name: "place", label: "#", number: true, cell: (entry) => html`${coloured && html`<span class="swatch ${colourOf(entry.place)}" aria-hidden="true"></span>`}${entry.place + 1}` };
  const rows = entries.map((entry, place) => ({ ...entry, place }));
  return html`<${Table} caption=${`Memories in the context${of}`} most=${most} empty="No memory is in the context." rows=${rows} columns=${[
    placeColumn, NAME, TIER, { name: "tokens", label: "Tokens", number: true, cell: (entry) => number(entry.tokens) },
    { name: "form", label: "Form", cell: (entry) => entry.form }, SCORE, REASON,
  ]} />`;
}

export function LeftOut({ entries, of = "", budgets = true, most = MOST }) {
  const fits = { name: "fits", label: "Enters at", number: true, cell: (entry) => (entry.fits_at ? `${number(entry.fits_at)} tokens` : "no budget") };
  return html`<${Table} caption=${`Memories that were left out${of}`} empty="Nothing was left out." rows=${entries} most=${most}
    columns=${[NAME, TIER, ...(budgets ? [fits] : []), SCORE, REASON]} />`;
}
