// Log in with an API key. The key is exchanged for a cookie that scripts cannot read, and is not kept.
import { html, useState } from "../html.js";
import { login } from "../api.js";

export function LoginPage({ refused, onLogin }) {
  const [secret, setSecret] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      onLogin(await login(secret.trim()));
    } catch (problem) {
      setError(problem.message);
      setBusy(false);
    }
  };
  return html`<main class="login">
    <h1>Memotherm</h1>
    ${refused && html`<p class="notice" role="alert">This login link is wrong, was used before, or has ended: each works once. <code>memotherm dashboard</code> makes a new one.</p>`}
    <form onSubmit=${submit}>
      <p>This server asks for an API key. <code>memotherm keys create NAME --tenant TENANT --person</code> makes one for a person.
        With a key of an agent, what you change here has the trust of an agent.
        On the machine of the store, <code>memotherm dashboard</code> opens the dashboard without a key.</p>
      <label class="field">API key
        <input type="password" required autocomplete="current-password" value=${secret} aria-invalid=${error ? "true" : undefined}
          aria-describedby="login-error" onInput=${(event) => setSecret(event.target.value)} /></label>
      <p id="login-error" class="hint error" role="alert">${error}</p>
      <button type="submit" class="primary" disabled=${busy || !secret.trim()}>Log in</button>
    </form>
  </main>`;
}
