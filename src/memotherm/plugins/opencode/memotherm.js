// Memotherm for opencode 1: each event is sent to `memotherm hook`. Written by `memotherm install opencode`.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

const TIMEOUT_MS = 5000;
// The tools that memories may concern, by the names that the hook knows.
const TOOLS = { read: "Read", edit: "Edit", write: "Write", bash: "Bash" };

function commandOf() {
  try {
    // With the absolute path of the program.
    return JSON.parse(readFileSync(new URL("./memotherm.json", import.meta.url), "utf8")).command;
  } catch {
    return ["memotherm", "hook", "--project", "auto", "--user", "auto"];
  }
}

function ask(payload) {
  const [program, ...rest] = commandOf();
  return new Promise((resolve) => {
    let out = "";
    let child;
    try {
      child = spawn(program, [...rest, "--client", "opencode"], { stdio: ["pipe", "pipe", "ignore"] });
    } catch {
      return resolve("");
    }
    const timer = setTimeout(() => { child.kill(); resolve(""); }, TIMEOUT_MS);
    child.on("error", () => { clearTimeout(timer); resolve(""); });
    child.stdin.on("error", () => {});
    child.stdout.on("data", (chunk) => { out += chunk; });
    child.on("close", () => {
      clearTimeout(timer);
      try { resolve(JSON.parse(out).text ?? ""); } catch { resolve(""); }
    });
    child.stdin.end(JSON.stringify(payload));
  });
}

const textOf = (parts) =>
  (parts ?? []).filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text ?? "").join("\n");

export const Memotherm = async ({ client, directory }) => {
  const subagents = new Map();
  // The sessions whose prompt begins with rules, open tasks and the last summary already.
  const begun = new Set();
  // A session that another one has started is a subagent: its prompt is an agent's, not the user's.
  const isSubagent = async (id) => {
    if (!subagents.has(id)) {
      const found = await client.session.get({ path: { id } }).catch(() => null);
      subagents.set(id, Boolean(found?.data?.parentID));
    }
    return subagents.get(id);
  };
  const base = (name, id) => ({ hook_event_name: name, session_id: id, cwd: directory });
  const lastReply = async (id) => {
    const found = await client.session.messages({ path: { id } }).catch(() => null);
    const replies = (found?.data ?? []).filter(({ info }) => info?.role === "assistant");
    return textOf(replies.at(-1)?.parts);
  };
  return {
    "chat.message": async (input, output) => {
      if (await isSubagent(input.sessionID)) return;
      const start = begun.has(input.sessionID) ? "" : await ask(base("session.created", input.sessionID));
      begun.add(input.sessionID);
      const found = await ask({ ...base("chat.message", input.sessionID), prompt: textOf(output.parts) });
      const text = [start, found].filter(Boolean).join("\n\n");
      const first = output.parts.find((part) => part.type === "text");
      if (text && first) output.parts.push({ ...first, id: `${first.id}m`, text, synthetic: true });
    },
    "tool.execute.after": async (input, output) => {
      const tool = TOOLS[input.tool];
      if (!tool) return;
      const { filePath, command } = input.args ?? {};
      const error = tool === "Bash" && output.metadata?.exit ? String(output.output ?? "") : "";
      const text = await ask({
        ...base("tool.execute.after", input.sessionID),
        tool_name: tool,
        tool_input: tool === "Bash" ? { command } : { file_path: filePath },
        ...(error ? { error } : {}),
      });
      if (text) output.output = `${output.output ?? ""}\n\n${text}`;
    },
    event: async ({ event }) => {
      const id = event?.properties?.sessionID ?? event?.properties?.info?.id;
      if (!id || !["session.idle", "session.compacted", "session.deleted"].includes(event.type)) return;
      if (event.type !== "session.deleted" && await isSubagent(id)) return;
      if (event.type !== "session.idle") begun.delete(id);
      const reply = event.type === "session.idle" ? { reply: await lastReply(id) } : {};
      await ask({ ...base(event.type, id), ...reply });
    },
  };
};
