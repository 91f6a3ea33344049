// Keys that do something wherever the reader is.

// Whether a key belongs to the browser, to a field that the reader types into, or to an open dialog.
export function isTyping(event) {
  const target = event.target;
  return event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented
    || target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName) || document.querySelector("dialog[open]") !== null;
}
