import anthropic
import httpx2

from memotherm.adapters.anthropic import MemothermMemoryTool

note = {"command": "create", "path": "/memories/seat.md", "file_text": "Ada books the window seat.\n"}
turns = iter(
    [
        {"stop_reason": "tool_use", "content": [{"type": "tool_use", "id": "t1", "name": "memory", "input": note}]},
        {"stop_reason": "end_turn", "content": [{"type": "text", "text": "Noted."}]},
    ]
)


def reply(request: httpx2.Request) -> httpx2.Response:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "usage": usage}
    return httpx2.Response(200, json=message | next(turns))


client = anthropic.Anthropic(
    api_key="key", http_client=anthropic.DefaultHttpxClient(transport=httpx2.MockTransport(reply))
)
memory_tool = MemothermMemoryTool("agent.db")
runner = client.beta.messages.tool_runner(
    model="claude-sonnet-5-5",
    max_tokens=1000,
    messages=[{"role": "user", "content": "I always book the window seat"}],
    tools=[memory_tool],
)

assert runner.until_done().content[0].text == "Noted."
