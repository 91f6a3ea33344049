// Controls whose values are parameters of the address.
import { html, useEffect, useRef, useState } from "../html.js";
import { setParams, useParam } from "../route.js";

const DELAY_MILLISECONDS = 300;

export function SelectFilter({ name, label, options, fallback = "" }) {
  const [value, setValue] = useParam(name, fallback);
  return html`<div class="field"><label for=${`filter-${name}`}>${label}</label>
    <select id=${`filter-${name}`} value=${value} onChange=${(event) => setValue(event.target.value)}>
      ${options.map(([option, text]) => html`<option key=${option} value=${option} selected=${option === value}>${text}</option>`)}
    </select></div>`;
}

// The time that all charts show; links keep it, as they keep the scope.
const PERIODS = [["1d", "a day"], ["7d", "a week"], ["30d", "30 days"], ["90d", "90 days"], ["365d", "a year"]];
const USUAL = "30d";
export const PeriodFilter = () => html`<${SelectFilter} name="period" label="Period" options=${PERIODS} fallback=${USUAL} />`;
export function usePeriod() {
  const [period] = useParam("period", USUAL);
  const [, name] = PERIODS.find(([value]) => value === period) ?? [null, period];
  return { period, name, days: parseInt(period, 10) || parseInt(USUAL, 10) };
}

// A parameter that the reader types: [what the control shows, its handler of input, the value that has taken effect].
// It takes effect when the reader pauses, unless `check` returns what is wrong with it.
export function useTypedParam(name, { fallback = "", check = () => "" } = {}) {
  const [value, setValue] = useParam(name, fallback);
  const [shown, setShown] = useState(value);
  const timer = useRef(0);
  // A space at the end stays while the reader goes on typing.
  useEffect(() => setShown((before) => (before.trim() === value ? before : value)), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (event) => {
    const typed = event.target.value;
    setShown(typed);
    clearTimeout(timer.current);
    if (!check(typed)) timer.current = setTimeout(() => setValue(typed.trim()), DELAY_MILLISECONDS);
  };
  return [shown, change, value];
}

export function TextFilter({ name, label, type = "text", placeholder = "", list, check = () => "" }) {
  const [text, change] = useTypedParam(name, { check });
  const error = check(text);
  return html`<div class="field"><label for=${`filter-${name}`}>${label}</label>
    <input id=${`filter-${name}`} type=${type} value=${text} placeholder=${placeholder} list=${list} aria-invalid=${error ? "true" : undefined} title=${error} onInput=${change} />
    ${error && html`<span class="hint error">${error}</span>`}</div>`;
}

export function CheckFilter({ name, label, fallback = false }) {
  const [value] = useParam(name, String(fallback));
  return html`<label class="check"><input type="checkbox" checked=${value === "true"}
    onChange=${(event) => setParams({ [name]: event.target.checked === fallback ? "" : String(event.target.checked) })} /> ${label}</label>`;
}
