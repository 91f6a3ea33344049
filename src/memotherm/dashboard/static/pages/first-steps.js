// What an empty store needs: a first memory, or an agent that stores some.
import { html, useState } from "../html.js";
import { store } from "../components/add-memory.js";
import { toastError } from "../components/toast.js";
import { useWritable } from "../login.js";

const COMMANDS = [
  ["Connect Claude Code, so that it remembers by itself", "memotherm install claude-code"],
  ["Import what another program has remembered", "memotherm import --help"],
  ["Store a memory in the terminal", 'memotherm remember "We deploy on Fridays"'],
  ["Watch what an agent reads in 60 tokens, and why", "memotherm demo"],
];

function FirstMemory({ onStored }) {
  const [content, setContent] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = (event) => {
    event.preventDefault();
    setBusy(true);
    store({ content }, onStored).then(onStored, (error) => { toastError(error); setBusy(false); });
  };
  return html`<form onSubmit=${submit}>
    <label class="field">Something that an agent should know
      <textarea rows="3" required maxlength="1000000" value=${content} placeholder="We deploy on Fridays"
        onInput=${(event) => setContent(event.target.value)}></textarea></label>
    <div class="buttons"><button type="submit" class="primary" disabled=${busy || !content.trim()}>Remember it</button></div>
  </form>`;
}

export function FirstSteps({ onStored }) {
  const writable = useWritable();
  return html`<section class="first-steps" aria-labelledby="first-steps">
    <h2 id="first-steps">First steps</h2>
    <p>There are no memories here yet. What your agents remember will appear on this page as it happens.</p>
    ${writable && html`<${FirstMemory} onStored=${onStored} />`}
    <ol>${COMMANDS.map(([purpose, command]) => html`<li key=${command}>${purpose}: <code>${command}</code></li>`)}</ol>
  </section>`;
}
