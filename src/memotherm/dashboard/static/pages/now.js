import { html } from "../html.js";

export const Now = () => html`<p class="loading">Loading…</p>`;
