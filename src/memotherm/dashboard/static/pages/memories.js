import { html } from "../html.js";

export const Memories = () => html`<p class="loading">Loading…</p>`;
