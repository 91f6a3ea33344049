// The events of the server as they are recorded. `fetch` instead of EventSource, which sends no scope.
import { send } from "./api.js";
import { useEffect, useRef } from "./html.js";

const RETRY_MILLISECONDS = 2000;

async function* messages(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
      if (data.length) yield JSON.parse(data.join("\n"));
    }
  }
}

async function follow(path, query, signal, onEvent, onState) {
  let last = null;
  while (!signal.aborted) {
    try {
      const headers = { accept: "text/event-stream", ...(last === null ? {} : { "last-event-id": String(last) }) };
      const response = await send("GET", path, { headers, signal, query });
      onState(true);
      for await (const event of messages(response)) {
        last = event.seq;
        onEvent(event);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401) return;
    }
    onState(false);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MILLISECONDS));
  }
}

// Call a function for each new event while the component is shown; `onState` tells whether the stream is connected.
export function useEvents(onEvent, onState = () => {}, query = { inside: true }) {
  const handler = useRef(onEvent);
  handler.current = onEvent;
  useEffect(() => {
    const abort = new AbortController();
    follow("/events/stream", query, abort.signal, (event) => handler.current(event), onState);
    return () => abort.abort();
  }, []);
}
