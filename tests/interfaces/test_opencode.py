"""The plugin for opencode 1: what it sends to the hook, and what it does with the answer."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memotherm.hooks.events import parse_event
from memotherm.hooks.install import PLUGINS

_SESSION = """
const { Memotherm } = await import(process.argv[1] + "/memotherm.js");
const messages = [
  { info: { role: "user" }, parts: [{ type: "text", text: "Which port?" }] },
  { info: { role: "assistant" }, parts: [{ type: "text", text: "Port 5433." }, { type: "tool" }] },
];
const client = { session: {
  get: async ({ path }) => ({ data: { id: path.id, parentID: path.id === "child" ? "s1" : undefined } }),
  messages: async () => ({ data: messages }),
} };
const hooks = await Memotherm({ client, directory: "/home/ana/shop" });
const asked = { message: {}, parts: [{ id: "p1", messageID: "m1", type: "text", text: "Which port?" }] };
await hooks["chat.message"]({ sessionID: "s1" }, asked);
await hooks["chat.message"]({ sessionID: "child" }, { message: {}, parts: [{ id: "p2", type: "text", text: "Look" }] });
const outputs = {};
const call = async (tool, args, metadata) => {
  const output = { title: "", output: "done", metadata: metadata ?? {} };
  await hooks["tool.execute.after"]({ tool, sessionID: "s1", callID: "c", args }, output);
  outputs[tool] = output.output;
};
await call("edit", { filePath: "/home/ana/shop/src/api.ts" });
await call("bash", { command: "make test" }, { exit: 2 });
await call("glob", { pattern: "*" });
for (const type of ["session.idle", "session.compacted", "session.updated"]) {
  await hooks.event({ event: { type, properties: { sessionID: "s1" } } });
}
const more = { message: {}, parts: [{ id: "p3", type: "text", text: "And the host?" }] };
await hooks["chat.message"]({ sessionID: "s1" }, more);
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "child" } } });
await hooks.event({ event: { type: "session.deleted", properties: { info: { id: "s1" } } } });
console.log(JSON.stringify({ parts: asked.parts, more: more.parts, outputs }));
"""
#: Stands for the hook: keeps what it is sent, and knows something about prompts, edits and failures.
_HOOK = """
import json, sys
data = sys.stdin.read()
open(sys.argv[1], "a").write(data + "\\n")
event = json.loads(data)
if event["hook_event_name"] == "session.created":
    print(json.dumps({"text": "<memotherm-memory>rules</memotherm-memory>"}))
elif event.get("prompt") or event.get("error") or "api.ts" in data:
    print(json.dumps({"text": "<memotherm-memory>known</memotherm-memory>"}))
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_a_session_of_opencode(tmp_path: Path) -> None:
    """The first prompt gets the start, a prompt and a call their memories; a subagent's words are not sent."""
    shutil.copy(PLUGINS / "opencode" / "memotherm.js", tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "hook.py").write_text(_HOOK)
    log = tmp_path / "log"
    command = [sys.executable, str(tmp_path / "hook.py"), str(log)]
    (tmp_path / "memotherm.json").write_text(json.dumps({"command": command}))
    node = ["node", "--input-type=module", "--eval", _SESSION, str(tmp_path)]
    told: dict[str, Any] = json.loads(subprocess.run(node, check=True, capture_output=True, timeout=120).stdout)
    sent = [json.loads(line) for line in log.read_text().splitlines()]

    own, added = told["parts"]
    assert own["text"] == "Which port?"
    start = "<memotherm-memory>rules</memotherm-memory>\n\n<memotherm-memory>known</memotherm-memory>"
    assert (added["text"], added["synthetic"], added["messageID"]) == (start, True, "m1")
    assert told["more"][1]["text"] == start  # after the compaction
    assert added["id"] != own["id"]
    known = "done\n\n<memotherm-memory>known</memotherm-memory>"
    assert told["outputs"] == {"edit": known, "bash": known, "glob": "done"}
    names = ["session.created", "chat.message", "tool.execute.after", "tool.execute.after", "session.idle",
             "session.compacted", "session.created", "chat.message", "session.deleted"]  # fmt: skip
    assert [each["hook_event_name"] for each in sent] == names
    assert {(each["session_id"], each["cwd"]) for each in sent} == {("s1", "/home/ana/shop")}
    events = [event for each in sent if (event := parse_event(each, client="opencode"))]
    assert [event.moment for event in events] == [
        "start", "prompt", "tool", "tool", "stop", "compact", "start", "prompt", "end"
    ]  # fmt: skip
    prompt, edit, failed, stop = events[1:5]
    assert prompt.prompt == "Which port?"
    assert stop.reply == "Port 5433."
    assert edit.call is not None
    assert edit.call.paths == ("src/api.ts",)
    assert failed.call is not None
    assert (failed.call.command, failed.call.error) == ("make test", "done")
