"""Recall at tool calls: a memory is shown once, fenced, with a receipt, and counts as used when it is taken up."""

from __future__ import annotations

from memotherm import Memotherm


def test_a_memory_is_shown_once_in_a_session_also_after_a_prompt_and_names_the_call(mem: Memotherm) -> None:
    """A rule that the prompt has is shown at the call that it is about; the receipt says at which."""
    rule = mem.remember("Never edit src/api.ts by hand, `pnpm codegen` writes it.", "rule", tier="hot")
    session = mem.session("s")
    assert rule.content in session.session_start().text
    assert not session.before_tool("Edit", ["src/other.ts"]).text
    shown = session.before_tool("Edit", ["src/api.ts"])
    assert rule.content in shown.text
    assert shown.text.startswith("<memotherm-memory>")
    assert not session.before_tool("Edit", ["src/api.ts"]).text
    assert not session.before_turn("What about src/api.ts and codegen?").text
    assert rule.content in mem.session("another").before_tool("Bash", command="pnpm codegen").text
    receipt = next(each for each in mem.receipts.list(session="s").receipts if each.tokens == shown.tokens)
    assert receipt.included[0].reason.startswith("Edit: src/api.ts: it names the path src/api.ts")
    session.context_compacted()
    assert rule.content in session.before_tool("Edit", ["src/api.ts"]).text


def test_an_input_that_takes_a_memory_up_counts_as_a_use(mem: Memotherm) -> None:
    """The agent runs what the memory says."""
    memory = mem.remember("src/api.ts is generated, run `pnpm codegen --strict heron` instead.")
    session = mem.session("s")
    session.before_tool("Edit", ["src/api.ts"])
    before = mem.get(memory.id).access_count
    session.before_tool("Bash", command="ls", input="pnpm codegen --strict heron")
    assert mem.get(memory.id).access_count > before
