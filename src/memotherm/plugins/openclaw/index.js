// Memotherm for OpenClaw: each event is sent to `memotherm hook`.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

const TIMEOUT_MS = 5000;
// A transcript of this size is flushed even if its tokens are not known; OpenClaw's own default.
const TRANSCRIPT_BYTES = 2 * 1024 * 1024;

function installed() {
  try {
    // `memotherm install openclaw` writes the absolute path and the texts of the flush beside this file.
    return JSON.parse(readFileSync(new URL("./command.json", import.meta.url), "utf8"));
  } catch {
    return {};
  }
}

function commandOf(config) {
  if (Array.isArray(config?.command) && config.command.length) return config.command;
  return installed().command ?? ["memotherm", "hook", "--project", "auto", "--user", "auto"];
}

// The flush is a turn of its own, which OpenClaw runs before it compacts a session. It runs none for heartbeats and in
// workspaces that cannot be written.
export function flushPlan(flush, { cfg, nowMs = Date.now(), contextWindowTokens } = {}) {
  const wanted = cfg?.agents?.defaults?.compaction?.memoryFlush;
  if (!flush || wanted?.enabled === false) return null;
  const timeZone = cfg?.agents?.defaults?.userTimezone || undefined;
  const day = new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" }).format(nowMs);
  const relativePath = `memory/${day}.md`;
  const room = contextWindowTokens > 0 ? Math.floor((contextWindowTokens - flush.reserveTokens) / 2) : Infinity;
  return {
    softThresholdTokens: Math.max(0, Math.min(wanted?.softThresholdTokens ?? flush.softTokens, room)),
    forceFlushTranscriptBytes: TRANSCRIPT_BYTES,
    reserveTokensFloor: flush.reserveTokens,
    model: wanted?.model?.trim() || undefined,
    prompt: flush.prompt.replaceAll("{file}", relativePath),
    systemPrompt: flush.system,
    relativePath,
  };
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
      trigger: context?.trigger ?? "",
    });
    const { flush } = installed();
    api.registerMemoryCapability({ flushPlanResolver: (params) => flushPlan(flush, params) });
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
