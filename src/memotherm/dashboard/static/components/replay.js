// What a policy would have done with the past.
import { html } from "../html.js";

export const Replay = ({ body }) => html`<p class="hint">What it would have done with the past, beside an oracle:${" "}
  <code>memotherm policy replay ${body.name ?? "FILE"}</code></p>`;
