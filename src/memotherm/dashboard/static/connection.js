// Whether the server responds. While it does not, pages keep what they show, and load it again when it is back.
import { useEffect, useState } from "./html.js";

const RETRY_MILLISECONDS = 2000;
const LOST = "memotherm:lost", BACK = "memotherm:back";
let lost = false;

// The server cannot be reached: nobody knows whether it has done what the reader wanted.
export class Unreachable extends Error {
  constructor() {
    super("The server does not respond. What you were changing may not be saved.");
    this.name = "Unreachable";
  }
}

// Ask whether the server is back.
export async function tryAgain() {
  try {
    await fetch("/health", { cache: "no-store", credentials: "same-origin" });
  } catch {
    return;
  }
  if (!lost) return;
  lost = false;
  dispatchEvent(new Event(BACK));
}

// A request has failed without a response: ask until there is one.
export function connectionLost() {
  if (lost) return;
  lost = true;
  dispatchEvent(new Event(LOST));
  const poll = () => tryAgain().then(() => { if (lost) setTimeout(poll, RETRY_MILLISECONDS); });
  setTimeout(poll, RETRY_MILLISECONDS);
}

// Call a function whenever the server is back.
export function useReconnected(run) {
  useEffect(() => {
    addEventListener(BACK, run);
    return () => removeEventListener(BACK, run);
  }, [run]);
}

export function useIsLost() {
  const [shown, setShown] = useState(lost);
  useEffect(() => {
    const update = () => setShown(lost);
    addEventListener(LOST, update);
    addEventListener(BACK, update);
    return () => { removeEventListener(LOST, update); removeEventListener(BACK, update); };
  }, []);
  return shown;
}
