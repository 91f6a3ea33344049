// Ask a question, and see each hit with its score, and the context that an agent would get.
import { html, useState } from "../html.js";
import { BudgetSlider } from "../components/budget.js";
import { Empty } from "../components/basics.js";
import { ContextDifference, ContextResult, useContextOf } from "../components/context-result.js";
import { CheckFilter, SelectFilter, TextFilter } from "../components/filters.js";
import { HitDifference, Hits, useHits } from "../components/hits.js";
import { SaveCase } from "../components/save-case.js";
import { useParam } from "../route.js";

const TIERS = [["hot,warm", "hot and warm"], ["hot,warm,cold", "all"], ["hot", "hot"], ["warm", "warm"], ["cold", "cold"]];

// Return the moment of a field "datetime-local", which is in the reader's zone, as the server takes it.
export function asOf(text) {
  const moment = new Date(text);
  return text && !Number.isNaN(moment.getTime()) ? moment.toISOString().replace(/\.\d+Z$/, "Z") : null;
}

// The settings of one side; `side` is the suffix of their names in the address.
function useSetting(side) {
  const [tiers] = useParam(`tiers${side}`, TIERS[0][0]);
  const [moment] = useParam(`as_of${side}`);
  const [budget] = useParam(`budget${side}`, "2000");
  const [cold] = useParam(`cold${side}`, "false");
  return { tiers: tiers.split(","), asOf: asOf(moment), budget: Number(budget) || 0, cold: cold === "true" };
}

const Controls = ({ side, title }) => html`<fieldset class="card controls"><legend class=${title ? "" : "hidden"}>${title || "Settings"}</legend>
  <${SelectFilter} name=${`tiers${side}`} label="Tiers to search" options=${TIERS} fallback=${TIERS[0][0]} />
  <${TextFilter} name=${`as_of${side}`} label="As of" type="datetime-local" />
  <${BudgetSlider} name=${`budget${side}`} />
  <${CheckFilter} name=${`cold${side}`} label="Context searches cold" /></fieldset>`;

export function Playground() {
  const [query] = useParam("q");
  const [includeNarrower] = useParam("include_narrower", "true");
  const [compare] = useParam("compare", "false");
  const [expected, setExpected] = useState(new Set());
  const select = (id) => setExpected((before) => {
    const after = new Set(before);
    if (!after.delete(id)) after.add(id);
    return after;
  });
  const two = compare === "true", narrower = includeNarrower === "true";
  const one = useSetting(""), other = useSetting("_b");
  const hits = useHits(query, one, narrower), context = useContextOf(query, one);
  const otherHits = useHits(two ? query : "", other, narrower), otherContext = useContextOf(two ? query : "", other);
  return html`
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <div class="wide"><${TextFilter} name="q" label="Question" type="search" placeholder="When is the release?" /></div></form>
    <div class="grid play">
      <div class="grid"><${Controls} side="" title=${two ? "A" : ""} />${two && html`<${Controls} side="_b" title="B" />`}
        <div><p><${CheckFilter} name="compare" label="Compare two settings" /></p><p><${CheckFilter} name="include_narrower" label="Include sub-scopes" fallback=${true} /></p>
        <p class="hint">Nothing asked here is logged or counts as a use. The context, and hits as of an earlier time, are those of the chosen scope.</p></div></div>
      ${query ? html`<section aria-label="Hits"><h2>Hits</h2>${two ? html`<${HitDifference} first=${hits} second=${otherHits} />` : html`<${Hits} state=${hits} selected=${expected} onSelect=${select} />`}</section>
        <section aria-label="Context"><h2>Context</h2>${two && html`<${ContextDifference} first=${context} second=${otherContext} />`}
          ${two ? html`<details open><summary>A</summary><${ContextResult} state=${context} setting=${one} /></details><details open><summary>B</summary><${ContextResult} state=${otherContext} setting=${other} of=" (second setting)" /></details>`
            : html`<${ContextResult} state=${context} setting=${one} />`}</section>`
        : html`<${Empty} title="Type a question.">You see what is found, with the parts of each score, and what a model would read.</${Empty}>`}
    </div>
    ${query && !two && html`<${SaveCase} query=${query} expected=${[...expected]} />`}`;
}
