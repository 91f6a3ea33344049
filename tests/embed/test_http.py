"""Services fail in many ways; each one ends in vectors or in an error that tells the remedy."""

from __future__ import annotations

import logging
import socket
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from urllib3 import HTTPResponse

from memotherm.embed.http import batches, checked_key, checked_url, estimated_tokens, pause, redact, redact_url
from memotherm.embed.services import OpenAIEmbedder
from memotherm.errors import EmbedderError, EmbedderRefused, EmbedderUnavailable, InvalidInput

from .service import Reply, Request, Service, unit_of

KEY = "sk-test-0123456789abcdef"


def embedder(service: Service, slept: list[float], **options: Any) -> OpenAIEmbedder:
    """Return an embedder that asks the service and never really waits."""
    return OpenAIEmbedder("tiny", f"{service.url}/v1", KEY, sleep=slept.append, **options)


def refusal(status: int, message: str = "no", code: str = "bad", **headers: str) -> Reply:
    """Return an error in OpenAI's shape."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply({"error": {"message": message, "code": code}}, status, named)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
def test_a_passing_failure_is_tried_again(openai: Service, slept: list[float], status: int) -> None:
    """The caller sees vectors, not the trouble."""
    openai.script = [refusal(status), refusal(status)]
    found = embedder(openai, slept).embed(["a"])
    assert found[0] == pytest.approx(unit_of("a"), abs=1e-6)
    assert len(openai.requests) == 3
    assert 0.375 <= slept[0] <= 0.5
    assert 0.75 <= slept[1] <= 1.0


@pytest.mark.parametrize(
    ("headers", "expected"),
    [({"retry_after": "7"}, 7.0), ({"retry_after_ms": "250"}, 0.25), ({"retry_after": "120"}, 120.0)],
)
def test_the_wait_a_service_asks_for_is_honoured(
    openai: Service, slept: list[float], headers: dict[str, str], expected: float
) -> None:
    """In seconds or in milliseconds."""
    openai.script = [refusal(429, **headers)]
    embedder(openai, slept).embed(["a"])
    assert slept == [expected]


def test_a_wait_of_more_than_two_minutes_is_not_waited(openai: Service, slept: list[float]) -> None:
    """The caller hears at once that the service is busy."""
    openai.script = [refusal(429, retry_after="121")]
    with pytest.raises(EmbedderUnavailable, match="too many requests"):
        embedder(openai, slept).embed(["a"])
    assert slept == []


def test_a_wait_may_be_a_date() -> None:
    """HTTP allows a date in the header."""
    answer = HTTPResponse(b"{}", {"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 503)
    assert pause(answer, 0, now=90.0, jitter=0.0) == 10.0
    assert pause(answer, 0, now=900.0, jitter=0.0) == 0.0


@pytest.mark.parametrize("nonsense", ["soon", "-5", "nan", "inf", ""])
def test_a_wait_that_is_no_time_is_ignored(nonsense: str) -> None:
    """Then the usual wait applies, doubling up to eight seconds."""
    answer = HTTPResponse(b"{}", {"retry-after": nonsense}, 429)
    assert [pause(answer, n, now=0.0, jitter=0.0) for n in range(6)] == [0.5, 1, 2, 4, 8, 8]


def test_a_used_up_quota_is_not_tried_again(openai: Service, slept: list[float]) -> None:
    """It does not come back by itself."""
    openai.script = [refusal(429, "You exceeded your quota", "insufficient_quota")]
    with pytest.raises(EmbedderUnavailable, match="add credit"):
        embedder(openai, slept).embed(["a"])
    assert len(openai.requests) == 1


def test_a_lasting_failure_is_reported_after_three_retries(openai: Service, slept: list[float]) -> None:
    """With how often it was tried."""
    openai.usual = lambda _: refusal(500)
    with pytest.raises(EmbedderUnavailable, match=r"500.*tried 4 times"):
        embedder(openai, slept).embed(["a"])
    assert len(openai.requests) == 4


@pytest.mark.parametrize(
    ("status", "remedy"),
    [(401, "set api_key"), (403, "set api_key"), (404, "pull the model"), (418, "check base_url")],
)
def test_a_refusal_is_final_and_names_the_remedy(openai: Service, slept: list[float], status: int, remedy: str) -> None:
    """The same request would fail again, so it is not sent again."""
    openai.script = [refusal(status)]
    with pytest.raises(EmbedderRefused, match=remedy):
        embedder(openai, slept).embed(["a"])
    assert len(openai.requests) == 1


def test_a_redirect_is_not_followed_with_the_key(openai: Service, slept: list[float]) -> None:
    """Another host would learn it."""
    openai.script = [Reply(status=307, headers={"Location": f"{openai.url}/elsewhere"})]
    with pytest.raises(EmbedderRefused, match="redirects"):
        embedder(openai, slept).embed(["a"])
    assert len(openai.requests) == 1


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_batch_that_is_too_large_is_halved(openai: Service, slept: list[float], status: int) -> None:
    """Until it passes; order is kept."""
    usual = openai.usual

    def at_most_two(request: Request) -> Reply:
        return usual(request) if len(request.body["input"]) <= 2 else refusal(status)

    openai.usual = at_most_two
    texts = [f"text {number}" for number in range(7)]
    found = embedder(openai, slept).embed(texts)
    assert all(row == pytest.approx(unit_of(text), abs=1e-6) for row, text in zip(found, texts, strict=True))


def test_a_request_that_is_wrong_for_any_batch_fails_soon(openai: Service, slept: list[float]) -> None:
    """Halving ends at the first single text."""
    openai.usual = lambda _: refusal(400, "unknown model")
    with pytest.raises(EmbedderRefused, match="unknown model"):
        embedder(openai, slept).embed(["a"] * 16)
    assert [len(request.body["input"]) for request in openai.requests] == [16, 8, 4, 2, 1]


def test_a_silent_service_is_given_up(openai: Service, slept: list[float]) -> None:
    """The timeout applies to each try."""
    openai.usual = openai.hang
    with pytest.raises(EmbedderUnavailable, match="ReadTimeoutError, tried 2 times"):
        embedder(openai, slept, timeout=0.05, retries=1).embed(["a"])


def test_a_port_where_nobody_listens_is_reported(slept: list[float]) -> None:
    """With the address, so that it can be checked."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    lost = OpenAIEmbedder("tiny", f"http://127.0.0.1:{port}/v1", sleep=slept.append)
    with pytest.raises(EmbedderUnavailable, match=f"127.0.0.1:{port}.*is it running"):
        lost.embed(["a"])
    assert len(slept) == 3


def test_an_answer_that_is_no_json_is_reported(openai: Service, slept: list[float]) -> None:
    """A web page is not an embedding service."""
    openai.script = [Reply(raw=b"<html>")]
    with pytest.raises(EmbedderError, match="did not answer with JSON"):
        embedder(openai, slept).embed(["a"])


def test_the_key_is_nowhere_to_be_seen(openai: Service, slept: list[float], caplog: pytest.LogCaptureFixture) -> None:
    """Not in the error, its traceback, the log or a repr, even if the server repeats it."""
    caplog.set_level(logging.DEBUG)
    openai.script = [refusal(500), refusal(401, f"Incorrect API key provided: {KEY}. Bearer {KEY}")]
    asked = embedder(openai, slept)
    with pytest.raises(EmbedderRefused) as caught:
        asked.embed(["a"])
    assert openai.requests[0].headers["authorization"] == f"Bearer {KEY}"
    shown = "".join(traceback.format_exception(caught.value)) + caplog.text
    shown += repr(asked) + repr(asked._transport) + asked.name
    assert "Incorrect API key provided: ***" in shown
    assert KEY not in shown
    assert "0123456789" not in shown


def test_a_user_in_the_url_is_sent_as_a_header_and_not_shown(openai: Service, slept: list[float]) -> None:
    """Basic authentication works without leaking."""
    url = openai.url.replace("http://", "http://ann:s3cret@")
    asked = OpenAIEmbedder("tiny", url, sleep=slept.append)
    openai.script = [refusal(404)]
    with pytest.raises(EmbedderRefused) as caught:
        asked.embed(["a"])
    assert openai.requests[0].headers["authorization"].startswith("Basic ")
    assert "s3cret" not in str(caught.value) + repr(asked) + asked.name


@pytest.mark.parametrize("url", ["localhost:11434", "ftp://host/v1", "http://", "http://host:port/v1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """With an example of one."""
    with pytest.raises(InvalidInput, match=r"http\(s\)://host"):
        checked_url(url)


def test_a_query_in_the_base_url_is_refused_without_repeating_it() -> None:
    """Queries end up in logs, so keys do not belong there."""
    with pytest.raises(InvalidInput) as caught:
        checked_url("https://ann:s3cret@host/v1?key=hidden")
    assert str(caught.value).startswith("https://host/v1: ")
    assert "hidden" not in str(caught.value)


def test_an_ipv6_address_stays_one() -> None:
    """Brackets included."""
    assert checked_url("http://[::1]:8080/v1/") == ("http://[::1]:8080/v1", {})


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-ä", "sk a"])
def test_a_key_that_cannot_be_one_is_refused_without_repeating_it(key: str) -> None:
    """The HTTP library would print it."""
    with pytest.raises(InvalidInput) as caught:
        checked_key(key)
    assert key not in str(caught.value)


def test_a_key_is_stripped_and_an_empty_one_is_none() -> None:
    """Keys are often read from files that end in a newline."""
    assert checked_key(" sk-abc\n") == "sk-abc"
    assert checked_key("  ") is None


@given(st.text(alphabet="abcXYZ019-_", min_size=8))
def test_redacting_removes_given_secrets_and_what_looks_like_one(secret: str) -> None:
    """Whatever surrounds it."""
    assert secret not in redact(f"key: {secret}, again {secret}", [secret]).replace("***", "")
    assert "Kd83" not in redact("sk-proj-Kd83********Kd83 AIzaKd83Kd83Kd83Kd83 Bearer Kd83")


def test_redacting_an_address_keeps_what_identifies_it() -> None:
    """Host, port and path."""
    assert redact_url("https://u:p@host:1/v1?key=x#y") == "https://host:1/v1"


@given(st.lists(st.text(max_size=60)), st.integers(1, 5), st.integers(1, 60))
def test_batches_keep_order_and_limits(texts: list[str], max_texts: int, max_tokens: int) -> None:
    """A single text that is too large goes alone; the service decides."""
    found = list(batches(texts, max_texts=max_texts, max_tokens=max_tokens))
    assert [text for batch in found for text in batch] == texts
    for batch in found:
        assert 1 <= len(batch) <= max_texts
        assert len(batch) == 1 or sum(map(estimated_tokens, batch)) <= max_tokens
