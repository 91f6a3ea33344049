// The events of the server as they are recorded. `fetch` instead of EventSource, which sends no scope.
import { send } from "./api.js";
import { connectionLost } from "./connection.js";
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

async function follow(path, query, signal, onEvent) {
  let last = null;
  while (!signal.aborted) {
    try {
      const headers = { accept: "text/event-stream", ...(last === null ? {} : { "last-event-id": String(last) }) };
      const response = await send("GET", path, { headers, signal, query });
      for await (const event of messages(response)) {
        last = event.seq;
        onEvent(event);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401) return;
      if (error instanceof TypeError) connectionLost();
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MILLISECONDS));
  }
}

// Call a function after new events, once for those that come together, while the component is shown.
//   concerns: which events count.
export function useEvents(run, { delay = 500, concerns = () => true } = {}) {
  const newest = useRef(null);
  newest.current = { run, concerns, delay };
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const receive = (event) => {
      if (!newest.current.concerns(event)) return;
      clearTimeout(timer);
      timer = setTimeout(() => newest.current.run(), newest.current.delay);
    };
    follow("/events/stream", { include_narrower: true }, abort.signal, receive);
    return () => { abort.abort(); clearTimeout(timer); };
  }, []);
}
