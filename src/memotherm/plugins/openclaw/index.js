// Memotherm for OpenClaw: each event is sent to `memotherm hook`.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

const TIMEOUT_MS = 5000;

function commandOf(config) {
  if (Array.isArray(config?.command) && config.command.length) return config.command;
  try {
    // `memotherm install openclaw` writes the absolute path beside this file.
    return JSON.parse(readFileSync(new URL("./command.json", import.meta.url), "utf8")).command;
  } catch {
    return ["memotherm", "hook", "--project", "auto", "--user", "auto"];
  }
}

export function askHook(command, payload) {
  return new Promise((resolve) => {
    const [program, ...rest] = command;
    let out = "";
    let child;
    try {
      child = spawn(program, [...rest, "--client", "openclaw"], { stdio: ["pipe", "pipe", "ignore"] });
    } catch {
      return resolve(null);
    }
    const timer = setTimeout(() => { child.kill(); resolve(null); }, TIMEOUT_MS);
    child.on("error", () => { clearTimeout(timer); resolve(null); });
    child.stdin.on("error", () => {});
    child.stdout.on("data", (chunk) => { out += chunk; });
    child.on("close", () => {
      clearTimeout(timer);
      try { resolve(out.trim() ? JSON.parse(out) : null); } catch { resolve(null); }
    });
    child.stdin.end(JSON.stringify(payload));
  });
}

export function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.filter((part) => part?.type === "text").map((part) => part.text ?? "").join("\n");
}

export function lastReply(messages) {
  const message = (messages ?? []).filter((entry) => entry?.role === "assistant").at(-1);
  return textOf(message?.content);
}

export default definePluginEntry({
  id: "memotherm",
  name: "Memotherm",
  description: "Tiered memory: recalls memories before each turn, and stores conversations.",
  register(api) {
    const command = commandOf(api.pluginConfig);
    const base = (name, event, context) => ({
      hook_event_name: name,
      session_id: context?.sessionId ?? context?.sessionKey ?? event?.sessionId ?? "",
      cwd: context?.workspaceDir ?? "",
    });
    api.registerMemoryCapability({});
    api.on("before_prompt_build", async (event, context) =>
      (await askHook(command, { ...base("before_prompt_build", event, context), prompt: event?.prompt ?? "" })) ?? undefined);
    api.on("agent_end", async (event, context) => {
      await askHook(command, { ...base("agent_end", event, context), reply: lastReply(event?.messages) });
    });
    api.on("before_compaction", async (event, context) => {
      await askHook(command, base("before_compaction", event, context));
    });
    api.on("session_end", async (event, context) => {
      await askHook(command, base("session_end", event, context));
    });
  },
});
