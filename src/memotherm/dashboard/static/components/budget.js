// A slider for a budget of tokens; it takes effect when it rests.
import { html, useEffect, useRef, useState } from "../html.js";
import { number } from "../format.js";
import { useParam } from "../route.js";

const DELAY_MILLISECONDS = 200;
const MOST = 8000;

export function BudgetSlider({ name, fallback = "2000" }) {
  const [value, setValue] = useParam(name, fallback);
  const [shown, setShown] = useState(value);
  const timer = useRef(0);
  useEffect(() => { setShown(value); }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (event) => {
    const chosen = event.target.value;
    setShown(chosen);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setValue(chosen), DELAY_MILLISECONDS);
  };
  return html`<label class="field">Budget: ${number(Number(shown))} tokens
    <input type="range" min="0" max=${MOST} step="25" value=${shown} onInput=${change} /></label>`;
}
