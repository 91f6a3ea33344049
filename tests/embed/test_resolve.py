"""An embedder is chosen by an instance, a name, a URL or a plugin."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import memotherm
from memotherm import embed
from memotherm.embed import NoEmbedder, OpenAIEmbedder, resolve
from memotherm.errors import InvalidInput, PluginNotFound, PluginUnavailable, SettingsError

KEYS = {"openai": "sk-for-openai-only", "gemini": "AIza-for-gemini-only"}


def authorization(found: object) -> str | None:
    assert isinstance(found, OpenAIEmbedder)
    return found._transport._headers.get("Authorization")


def test_an_instance_passes_through() -> None:
    """Whatever it is, if it has what an embedder needs."""
    mine = NoEmbedder()
    assert resolve(mine) is mine


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (None, "local:memotherm-embed-s-1+potion-multilingual"),
        ("local", "local:memotherm-embed-s-1+potion-multilingual"),
        ("none", "none"),
        ("openai", "openai:api.openai.com/text-embedding-3-small:1536"),
        ("openai?model=text-embedding-3-large&dimensions=256", "openai:api.openai.com/text-embedding-3-large:256"),
        ("gemini?dimensions=768", "gemini:generativelanguage.googleapis.com/gemini-embedding-001:768"),
        ("http://localhost:11434/v1?model=nomic-embed-text", "openai:localhost:11434/nomic-embed-text"),
        ("https://u:p@Example.org/v1?model=m&dimensions=4", "openai:example.org/m:4"),
    ],
)
def test_names_and_urls_have_an_identity_without_secrets(spec: str | None, name: str) -> None:
    """Host, model and dimensions, never a credential."""
    assert resolve(spec, keys=KEYS).name == name


def test_a_key_is_sent_only_where_it_belongs() -> None:
    """An OpenAI key is never sent to another server."""
    assert authorization(resolve("http://localhost/v1?model=m", keys=KEYS)) is None
    assert authorization(resolve("http://localhost/v1?model=m", keys={**KEYS, "url": "k1"})) == "Bearer k1"
    assert authorization(resolve("http://h:1/v1?model=m", keys={"h:1": "k2", "url": "k1"})) == "Bearer k2"
    official = resolve("https://api.openai.com/v1?model=m", keys=KEYS)
    assert authorization(official) == "Bearer sk-for-openai-only"


def test_auto_takes_the_bundled_model_where_it_can_be_run() -> None:
    """Keys of services change nothing, so nothing is sent."""
    assert resolve("auto", keys=KEYS).name == resolve("local").name


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (KEYS, "openai:api.openai.com/text-embedding-3-small:1536"),
        ({"openai": "", "gemini": "AIza"}, "gemini:generativelanguage.googleapis.com/gemini-embedding-001:3072"),
        ({}, "local:memotherm-embed-s-1+potion-multilingual"),
    ],
)
def test_auto_without_onnxruntime_takes_a_service_that_has_a_key(
    keys: dict[str, str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenAI before Gemini; without any key it is local, whose error says what to install."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert resolve("auto", keys=keys).name == name


def test_auto_with_nothing_to_use_answers_by_words_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting works through `open`, and a memory is stored all the same."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr("memotherm.embed.local._loaded", {})  # what an embedder of another test may have loaded
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with memotherm.open(":memory:", settings={"embedder": "auto"}) as mem:
        mem.remember("the red boat")
        recall = mem.recall("boat")

    assert recall[0].memory.content == "the red boat"
    assert "pip install onnxruntime" in recall.degraded[0]


def test_openai_without_a_key_says_so() -> None:
    """The environment is not read here."""
    with pytest.raises(SettingsError, match="key"):
        resolve("openai")


def test_a_url_without_a_model_is_refused_without_its_password() -> None:
    """With an example."""
    with pytest.raises(InvalidInput, match=r"^http://host/v1: .*\?model=") as caught:
        resolve("http://u:hidden@host/v1")
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("spec", ["openai?modle=x", "none?model=x", "local?model=x"])
def test_an_unknown_option_is_refused_with_the_known_ones(spec: str) -> None:
    """A typing error does not pass silently."""
    with pytest.raises(InvalidInput, match="It takes:"):
        resolve(spec, keys=KEYS)


def test_an_option_that_must_be_a_number_is_checked() -> None:
    """And named."""
    with pytest.raises(InvalidInput, match="dimensions must be a number"):
        resolve("openai?dimensions=many", keys=KEYS)


@pytest.mark.parametrize("wrong", [object(), 3, ["local"], NoEmbedder])
def test_what_is_no_embedder_is_refused(wrong: object) -> None:
    """With what it lacks."""
    with pytest.raises(InvalidInput, match=r"lacks name: str, dimensions: int, embed|pass an instance"):
        resolve(wrong)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    """So that a typing error is easy to mend."""
    with pytest.raises(PluginNotFound, match="gemini, local, none, openai"):
        resolve("olama")


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """Put a package with an embedder on the path, as pip would."""
    (folder / "pondweed.py").write_text(source, encoding="utf-8")
    info = folder / "pondweed-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pondweed\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[memotherm.embedders]\npond = pondweed:make\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "pondweed", raising=False)


PLUGIN = """
class Pond:
    dimensions = 2

    def __init__(self, depth, api_key):
        self.name = f"pond:{depth}:{len(api_key)}"

    def embed(self, texts):
        raise NotImplementedError


make = Pond
"""


def test_a_plugin_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets its options and its key."""
    install(tmp_path, monkeypatch, PLUGIN)
    assert resolve("pond?depth=3", keys={"pond": "12345"}).name == "pond:3:5"


def test_a_plugin_without_its_package_prints_the_install_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known, but not usable yet."""
    install(tmp_path, monkeypatch, "import duckweed_not_installed\n")
    with pytest.raises(PluginUnavailable, match="pip install duckweed_not_installed"):
        resolve("pond")


def test_importing_and_choosing_load_nothing_heavy() -> None:
    """numpy, onnxruntime and urllib3 wait until an embedder needs them."""
    code = (
        "import sys, memotherm.embed, memotherm.embed.protocol\n"
        "memotherm.embed.resolve('local'); memotherm.embed.resolve('none')\n"
        "print([m for m in ('numpy', 'onnxruntime', 'urllib3') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_can_be_had() -> None:
    """Lazily loaded classes included."""
    assert all(getattr(embed, name) is not None for name in embed.__all__)
    with pytest.raises(AttributeError, match="Nothing"):
        _ = embed.Nothing
