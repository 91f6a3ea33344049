"""A model API on this machine that answers every request with one sentence, in the words of both providers."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REPLY = "The staging database is heron, and it answers on port 5433."

_BLOCK = re.compile(r"(?:(\w+) hook additional context: )?(<memotherm-memory>.*?</memotherm-memory>)", re.DOTALL)


class Model(BaseHTTPRequestHandler):
    """A model that says one sentence, and stores a memory when it is asked to."""

    asked: list[str] = []  # noqa: RUF012 - one list for the one server of a run
    reply: str = REPLY
    #: What to store, by the prompt that asks for it: the arguments of the tool `store_memory`.
    to_store: dict[str, dict[str, Any]] = {}  # noqa: RUF012 - set by the run

    def do_POST(self) -> None:
        """Answer a request of either API."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.asked.append(body)
        if "count_tokens" in self.path:
            self._send(json.dumps({"input_tokens": 10}), "application/json")
        elif "/responses" in self.path:
            arguments = self._memory_to_store(json.loads(body), "input")
            item = said(self.reply) if arguments is None else function_call(arguments)
            self._send(events(responses(item)), "text/event-stream")
        elif json.loads(body or "{}").get("stream"):
            arguments = self._memory_to_store(json.loads(body), "messages")
            stream = messages(self.reply) if arguments is None else tool_call(arguments)
            self._send(events(stream), "text/event-stream")
        else:
            self._send(json.dumps(message(self.reply)), "application/json")

    def do_GET(self) -> None:
        """Answer anything else with nothing."""
        self._send("{}", "application/json")

    def _memory_to_store(self, request: dict[str, Any], history: str) -> dict[str, Any] | None:
        """Return the arguments of a tool call if the last messages ask for it and it was not made yet."""
        # Codex puts what a hook adds behind the prompt.
        last = json.dumps(request[history][-2:] if history == "input" else request[history][-1])
        if "tool_result" in last or "function_call_output" in last or not request.get("tools"):
            return None
        return next((arguments for prompt, arguments in self.to_store.items() if prompt in last), None)

    def _send(self, text: str, kind: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def message(text: str) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    content = [{"type": "text", "text": text}] if text else []
    stop = "end_turn" if text else None
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": content,
            "stop_reason": stop, "stop_sequence": None, "usage": usage}  # fmt: skip


def messages(reply: str) -> Iterator[dict[str, Any]]:
    yield from _streamed({"type": "text", "text": ""}, {"type": "text_delta", "text": reply}, "end_turn")


def tool_call(
    arguments: dict[str, Any], name: str = "mcp__memotherm__store_memory", call: str = "toolu_1", said_in: str = "msg_1"
) -> Iterator[dict[str, Any]]:
    block = {"type": "tool_use", "id": call, "name": name, "input": {}}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    yield from _streamed(block, delta, "tool_use", said_in)


def _streamed(
    block: dict[str, Any], delta: dict[str, Any], stop: str, said_in: str = "msg_1"
) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**message(""), "id": said_in}}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
           "usage": {"output_tokens": 5}}  # fmt: skip
    yield {"type": "message_stop"}


def said(reply: str) -> dict[str, Any]:
    return {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": reply, "annotations": []}]}  # fmt: skip


def function_call(
    arguments: dict[str, Any], name: str = "store_memory", namespace: str = "mcp__memotherm", call: str = "call_1"
) -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    return {"type": "function_call", "id": f"f_{call}", "call_id": call, **place,
            "name": name, "arguments": json.dumps(arguments)}  # fmt: skip


def responses(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 5, "output_tokens_details": None,
             "total_tokens": 15}  # fmt: skip
    yield {"type": "response.created", "response": {"id": "r1"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {"id": "r1", "usage": usage}}


def events(all_of_them: Iterator[dict[str, Any]]) -> str:
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in all_of_them)


def blocks_of_turn(request: str) -> tuple[str, str]:
    """Return what Codex has added before and after the last prompt, since the last message of the model."""
    before, after, prompted = "", "", False
    for item in reversed(json.loads(request or "{}").get("input", ())):
        if item.get("role") == "assistant":
            break
        found = "".join(block for text in _texts(item) for _, block in _BLOCK.findall(text))
        after, before = (after, found + before) if prompted else (found + after, before)
        prompted = prompted or (item.get("role") == "user" and not found)
    return before, after


def blocks(request: str) -> list[tuple[str, str]]:
    """Return the recalled blocks in a request, in their order, each with the hook event that Claude Code names."""
    return [block for text in _texts(json.loads(request or "{}")) for block in _BLOCK.findall(text)]


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


@contextmanager
def model(reply: str = REPLY, handler: type[Model] = Model) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    Model.asked.clear()
    Model.reply = reply
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
