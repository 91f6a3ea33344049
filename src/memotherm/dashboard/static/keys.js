// Keys that do something wherever the reader is.
import { useEffect, useRef } from "./html.js";

// The keys as the help shows them.
export const SHORTCUTS = [
  ["⌘K or Ctrl K", "Search memories and pages"], ["/", "Search on this page"], ["n", "Add a memory"], ["?", "Show these shortcuts"],
  ["↑ ↓", "Go to another row of a table, or to its memory beside it"], ["Space", "Choose the row"], ["Enter", "Open the memory of the row"], ["e", "Edit the memory of the row, or the open one"],
  ["Delete", "Forget the memory of the row"], ["j k", "Go to another conflict"], ["1 2 b", "Keep its first memory, its second one, or both"],
  ["Esc", "Close what is open, like a click beside it"],
];

// Whether a key belongs to the browser, to a field that the reader types into, or to an open dialog.
function isTyping(event) {
  const target = event.target;
  return event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented
    || target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName) || document.querySelector("dialog[open]") !== null;
}

// Call the function of a key; the key is not typed into what the function opens.
export function handleKey(event, actions) {
  if (isTyping(event) || !Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
}

// Handle keys of the whole page: `actions` by key, and `search` for ⌘K and Ctrl K, which work in fields, too.
export function useKeys(actions, search = null) {
  // The functions of what is shown: effects run later than that.
  const shown = useRef(null);
  shown.current = { actions, search };
  useEffect(() => {
    const handle = (event) => {
      const { actions, search } = shown.current;
      const withCommand = (event.metaKey || event.ctrlKey) && !event.altKey && !event.shiftKey;
      if (search && withCommand && event.key.toLowerCase() === "k" && !document.querySelector("dialog[open]")) {
        event.preventDefault();
        search();
      } else handleKey(event, actions);
    };
    addEventListener("keydown", handle);
    return () => removeEventListener("keydown", handle);
  }, []);
}
