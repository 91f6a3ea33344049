// Ask a question, and see each hit with its score, and the context that an agent would get.
import { html, useState } from "../html.js";
import { CheckFilter, SelectFilter, TextFilter } from "../components/filters.js";
import { BudgetSlider } from "../components/budget.js";
import { ContextResult } from "../components/context-result.js";
import { Hits } from "../components/hits.js";
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

function Side({ side, query, includeNarrower, selected, onSelect, title }) {
  const setting = useSetting(side);
  return html`<section>
    <h2>${title}</h2>
    <div class="filters">
      <${SelectFilter} name=${`tiers${side}`} label="Tiers to search" options=${TIERS} fallback=${TIERS[0][0]} />
      <${TextFilter} name=${`as_of${side}`} label="As of" type="datetime-local" />
      <${CheckFilter} name=${`cold${side}`} label="Context searches cold" />
    </div>
    <${BudgetSlider} name=${`budget${side}`} />
    ${query ? html`
      <h3>Hits</h3>
      <${Hits} query=${query} setting=${setting} includeNarrower=${includeNarrower} selected=${selected} onSelect=${onSelect} />
      <h3>Context</h3>
      <${ContextResult} query=${query} setting=${setting} of=${side ? " (second setting)" : ""} />`
      : html`<p class="empty">Type a question to see what is found and what a model would read.</p>`}
  </section>`;
}

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
  const shared = { query, includeNarrower: includeNarrower === "true", selected: expected, onSelect: select };
  return html`
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <div class="wide"><${TextFilter} name="q" label="Question" type="search" placeholder="When is the release?" /></div>
      <${CheckFilter} name="include_narrower" label="Hits from narrower scopes, too" fallback=${true} />
      <${CheckFilter} name="compare" label="Compare two settings" />
    </form>
    <p class="hint">Nothing asked here is logged or counts as a use. The context, and hits as of an earlier time, are those of the chosen scope.</p>
    <div class=${compare === "true" ? "columns" : ""}>
      <${Side} side="" title=${compare === "true" ? "First setting" : "What is found"} ...${shared} />
      ${compare === "true" && html`<${Side} side="_b" title="Second setting" ...${shared} />`}
    </div>
    ${query && html`<${SaveCase} query=${query} expected=${[...expected]} />`}`;
}
