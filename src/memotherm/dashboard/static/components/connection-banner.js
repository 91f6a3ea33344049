// What the reader sees while the server does not respond.
import { html } from "../html.js";
import { tryAgain, useIsLost } from "../connection.js";

export function ConnectionBanner() {
  const lost = useIsLost();
  return html`<div role="status" aria-live="polite">${lost && html`<p class="banner"><strong>The server does not respond.</strong>
    What you see may be out of date. This page reconnects by itself. <button type="button" onClick=${tryAgain}>Try now</button></p>`}</div>`;
}
