// A slider for a budget of tokens.
import { html } from "../html.js";
import { number } from "../format.js";
import { useTypedParam } from "./filters.js";

const MOST = 8000;

export function BudgetSlider({ name, fallback = "2000" }) {
  const [shown, change] = useTypedParam(name, { fallback });
  return html`<label class="field">Budget: ${number(Number(shown))} tokens
    <input type="range" min="0" max=${MOST} step="25" value=${shown} onInput=${change} /></label>`;
}
