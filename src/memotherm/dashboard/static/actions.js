// Changes of memories that the reader asks for: each is reported with a button that undoes it.
import { change, formatScope, post, undo } from "./api.js";
import { confirm } from "./components/dialog.js";
import { toast } from "./components/toast.js";
import { memories as memoriesText, number, scopeName } from "./format.js";

const AT_ONCE = 4;
export const TIERS = ["hot", "warm", "cold"];
export const PRIORITIES = ["pinned", "critical", "important", "normal", "low"];

// id: the route; body: what is sent; done: how the toast begins; fits: for which memories it makes sense.
const isActive = (memory) => memory.retention === "active";
const isProposed = (memory) => memory.retention === "proposed";
export const APPROVE = { name: "Approve", id: "approve", done: "Approved", fits: isProposed };
export const REJECT = { name: "Reject", id: "reject", done: "Rejected", fits: isProposed };
export const CLOSE = { name: "Close", id: "finish", body: { status: "done" }, done: "Closed", fits: isActive };
export const ACTIONS = [
  APPROVE, REJECT,
  { name: "Forget", id: "forget", done: "Forgot", fits: (memory) => memory.retention !== "deleted" && !isProposed(memory) },
  { name: "Restore", id: "restore", done: "Restored", fits: (memory) => !isActive(memory) && !isProposed(memory) },
  { name: "Archive", id: "archive", done: "Archived", fits: isActive },
  { name: "Pin", id: "pin", done: "Pinned", fits: (memory) => isActive(memory) && memory.priority !== "pinned" },
  { name: "Unpin", id: "unpin", done: "Unpinned", fits: (memory) => isActive(memory) && memory.priority === "pinned" },
  ...TIERS.map((tier) => ({
    name: `Move to ${tier}`, id: "move", body: { tier }, done: `Moved to ${tier}`,
    fits: (memory) => isActive(memory) && memory.tier !== tier,
  })),
];
export const PURGE = { name: "Purge", id: "purge", done: "Purged", fits: () => true };
// Changes with a value that the reader chooses.
export const prioritizing = (priority) => ({ name: `Set the priority ${priority}`, id: "prioritize", body: { priority }, done: `Made ${priority}`, fits: (memory) => isActive(memory) && memory.priority !== priority });
export const rescoping = (scope) => ({ name: `Move to ${scopeName(scope)}`, id: "rescope", body: { scope }, done: `Moved to ${scopeName(scope)}:`,
  fits: (memory) => isActive(memory) && memory.scope.tenant === scope.tenant && formatScope(memory.scope) !== formatScope(scope) });
export const editing = (name, done, bodyOf) => ({ name, id: "edit", bodyOf, done, fits: isActive });

// Call a function for each item, a few at once; return the results and the errors, each with its item.
// When `signal` is aborted, the items that have not begun are left out.
async function forEach(items, run, { onProgress = () => {}, signal } = {}) {
  const results = [], errors = [];
  let next = 0;
  const work = async () => {
    while (next < items.length && !signal?.aborted) {
      const item = items[next++];
      try {
        results.push([item, await run(item)]);
      } catch (error) {
        errors.push([item, error]);
      }
      onProgress(results.length + errors.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { results, errors };
}

// Purging cannot be undone: the reader types how many memories it is about, or the word.
async function confirmPurge(chosen) {
  const typed = chosen.length === 1 ? "purge" : `purge ${chosen.length}`;
  return confirm({
    title: `Purge ${memoriesText(chosen.length)}?`, action: "Purge", danger: true, typed,
    text: "The contents, vectors and words are erased permanently, also from the history. This cannot be undone.",
  });
}

async function confirmMany(action, chosen) {
  return confirm({ title: `${action.name}: ${memoriesText(chosen.length)}?`, action: action.name, text: "You can undo it afterwards." });
}

// Apply an action to memories, report it, and return whether anything was changed.
export async function applyAction(action, chosen, { onProgress, signal, onChange = () => {} } = {}) {
  const fitting = chosen.filter(action.fits);
  if (!fitting.length) {
    toast(`${action.name}: it applies to none of the chosen memories.`);
    return false;
  }
  const agreed = action === PURGE ? await confirmPurge(fitting) : fitting.length === 1 || await confirmMany(action, fitting);
  if (!agreed) return false;
  const { results, errors } = await forEach(fitting, (memory) => change(memory, action.id, action.bodyOf ? action.bodyOf(memory) : action.body), { onProgress, signal });
  // A change that was made already has no event of its own.
  const events = results.filter(([memory, after]) => after && after.version !== memory.version).map(([, after]) => after);
  if (results.length) toast(`${action.done} ${memoriesText(results.length)}`, { undo: action === PURGE || !events.length ? null : undoOf(events, onChange) });
  if (errors.length) toast(`${memoriesText(errors.length)} could not be changed: ${errors[0][1].message}`, { error: true });
  onChange();
  return results.length > 0;
}

// Return what a toast calls to undo the changes that led to memories, in one request.
export const undoOf = (changed, onChange) => async () => {
  const { skipped } = await undo(changed.map((after) => after.version));
  onChange();
  if (skipped.length) throw new Error(changed.length === 1 ? skipped[0].why : `${memoriesText(skipped.length)} could not be undone: ${skipped[0].why}`);
};

// Return what a toast calls to undo all that one request has changed.
export const undoRun = (event, onChange) => async () => {
  const { skipped } = await post("/events:undo", { events: [event], run: true, include_narrower: true }, { scope: {} });
  onChange();
  if (skipped.length) throw new Error(`${memoriesText(skipped.length)} could not be undone: ${skipped[0].why}`);
};

// Undo events of the ledger in one request; the toast undoes that.
export async function undoEvents(events, onChange = () => {}) {
  const one = events.length === 1;
  if (!one && !await confirm({ title: `Undo ${number(events.length)} changes?`, action: "Undo all", text: "What was changed again since then is left as it is. You can undo it afterwards." })) return;
  try {
    const { memories, skipped } = await undo(events.map((event) => event.seq));
    const undone = events.length - skipped.length;
    if (undone) toast(`Undone: ${one ? events[0].action : `${number(undone)} changes`}`, { undo: undoOf(memories, onChange) });
    if (skipped.length) toast(one ? skipped[0].why : `${number(skipped.length)} changes could not be undone: ${skipped[0].why}`, { error: true });
  } catch (error) {
    toast(error.message, { error: true });
  }
  onChange();
}
