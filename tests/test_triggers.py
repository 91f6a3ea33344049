"""Which memories concern a tool call: those that name its file, its command or its error."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import memotherm
from memotherm import Memotherm, Scope
from memotherm.hooks.calls import names_none
from memotherm.text.failures import error_signature
from memotherm.text.tool_calls import ToolCall, call_names
from memotherm.text.triggers import reason_for_call, trigger_names

_SET = Path(__file__).parent / "tool_calls"
_BUDGET = 150


def _call(line: dict[str, Any]) -> ToolCall:
    given = line["input"]
    paths = (given["file_path"],) if "file_path" in given else ()
    return ToolCall(line["tool"], paths, given.get("command", ""), line.get("error", ""), given.get("prompt", ""))


@pytest.mark.parametrize("half", ["seen", "unseen"])
def test_the_recorded_calls_get_the_memory_that_concerns_them_and_others_nothing(half: str) -> None:
    """At least 90 % of the calls that a memory concerns get it, and 95 % of the others get nothing.

    A hook that ends at once, because a call has none of the names in the store, is one that would have said nothing.
    """
    lines = (_SET / f"{half}.jsonl").read_text("utf-8").splitlines()
    stores: dict[str, Memotherm] = {}
    labels: dict[str, str] = {}
    names: defaultdict[str, set[str]] = defaultdict(set)
    right: Counter[tuple[str, bool]] = Counter()
    asked: Counter[tuple[str, bool]] = Counter()
    for number, line in enumerate(map(json.loads, lines)):
        if line["session"] not in stores:
            stores[line["session"]] = memotherm.open(":memory:", scope=Scope(project=line["session"]))
        mem = stores[line["session"]]
        if "memory" in line:
            labels[mem.remember(line["text"], line["kind"]).id] = line["memory"]
            names[line["session"]] |= trigger_names(line["kind"], line["text"])
            continue
        # Each call in a session of its own, because a memory is shown once in a session.
        call = _call(line)
        context = mem.session(f"s{number}").before_tool(*call)
        found = [labels[entry.id] for entry in context.included]
        assert not found or not names_none(call, names[line["session"]])
        case = line["event"], line["concerns"] is not None
        asked[case] += 1
        right[case] += line["concerns"] in found if line["concerns"] else not found
        assert context.tokens <= _BUDGET
    for mem in stores.values():
        mem.close()
    rates = {case: f"{right[case]}/{asked[case]}" for case in sorted(asked)}
    for concerned, least in ((True, 0.9), (False, 0.95)):
        of, well = (sum(count[case] for case in asked if case[1] is concerned) for count in (asked, right))
        assert well >= least * of, rates
    print(half, rates)  # noqa: T201 - the numbers by kind of trigger: pytest -s


@pytest.mark.parametrize(
    ("path", "text", "concerned"),
    [
        ("services/api/main.go", "services/api/main.go starts the gateway.", True),
        ("services/web/main.go", "services/api/main.go starts the gateway.", False),
        ("web/main.go", "main.go must stay small.", False),
        ("main.go", "main.go must stay small.", True),
        ("src/api/schema.ts", "The file `api/schema.ts` is generated.", True),
        ("vendor/lib/a/b.c", "Never touch vendor/lib/ please.", True),
        ("db/migrations/7.sql", "db/migrations/*.sql are additive.", True),
        ("app/[slug]/page.tsx", "Keep app/[slug]/page.tsx static.", True),
        ("app/[slug]/page.tsx", "Keep (app/[slug]/page.tsx) static.", True),
        ("app/layout.tsx", "Keep `app/[slug]/page.tsx` static.", False),
        ("app/layout.tsx", "The order in app/(auth)/login.tsx matters.", False),
        ("app/routes/$id.tsx", "app/routes/$id.tsx loads twice.", True),
        ("src/routes/+page.svelte", "src/routes/+page.svelte loads no data.", True),
        ("src/routes/+layout.ts", "src/routes/+page.svelte loads no data.", False),
        ("docs/über uns.md", "Never format `docs/über uns.md`.", True),
        ("docs/uns.md", "Never format `docs/über uns.md`.", False),
        ("src/and/or.py", "Use and/or at https://example.org/src/and/or.py, 24/7.", False),
    ],
)
def test_a_path_concerns_its_file_and_its_folder_and_never_the_name_alone(
    path: str, text: str, concerned: bool
) -> None:
    """A file of the same name in another folder is another file."""
    call = ToolCall("Edit", (path,))
    assert bool(reason_for_call(call, "fact", text)) is concerned
    assert not concerned or trigger_names("fact", text) & call_names(call)


@pytest.mark.parametrize(
    ("command", "text", "concerned"),
    [
        ("git push --force origin main", "Never `git push --force` here.", True),
        ("git push origin main", "Never `git push --force` here.", False),
        ("npm ci", "Use `npm ci --legacy-peer-deps`, plain installs fail.", True),
        ("cd web && npm ci | tee log", "Use `npm ci --legacy-peer-deps`.", True),
        ("FOO=1 sudo make deploy", "`make deploy` pages the whole team.", True),
        ("make deploy-docs", "`make deploy` pages the whole team.", False),
        ("git -C web push --force", "Never `git push --force` here.", True),
        ("git -C web status", "`git status` is slow here.", False),
        ("npm --prefix web ci", "Use `npm ci --legacy-peer-deps`.", True),
        ("kubectl -n prod delete pod x", "Never `kubectl delete` by hand.", True),
        ("kubectl -n prod get pods", "Never `kubectl delete` by hand.", False),
        ("make -C docs deploy", "`make deploy` pages the whole team.", True),
        ('bash -lc "make deploy"', "`make deploy` pages the whole team.", True),
        ("bash -lc make deploy", "`make deploy` pages the whole team.", True),
        ("bash -c 'cd web && npm ci'", "Use `npm ci --legacy-peer-deps`.", True),
        ("python -m pytest -x", "`pytest` needs the database.", True),
        ("cat Makefile", "`cat` is slow here, and the Makefile is long.", False),
        ("terraform apply", "Don't run terraform apply by hand.", True),
        ("cat <<EOF > deploy.sh\nmake deploy\nEOF", "`make deploy` pages the whole team.", False),
    ],
)
def test_a_command_concerns_the_same_program_and_subcommand(command: str, text: str, concerned: bool) -> None:
    """What is forbidden is meant with its options; looking at files is no action."""
    call = ToolCall("Bash", (), command)
    assert bool(reason_for_call(call, "rule", text)) is concerned
    assert not concerned or trigger_names("rule", text) & call_names(call)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("/home/a/x.py:12: error: No module named 'yaml'", 'C:\\b\\x.py:7: error: No module named "yaml"', True),
        ("error: No module named 'yaml'", "error: No module named 'toml'", False),
        ("\x1b[31mpanic:\x1b[0m index 7 of 3 is out of range", "panic: index 12 of 9 is out of range", True),
        ("エラー: 接続が拒否されました: 10.0.0.1", "エラー: 接続が拒否されました: 10.0.0.2", True),
        ("错误：找不到模块配置文件", "错误：找不到数据库服务器", False),
        ("10:22:01 commit 3f2a9c1d was not found upstream", "10:25:44 commit 99aa12bc was not found upstream", True),
    ],
)
def test_an_error_has_the_same_signature_in_another_place_and_time(first: str, second: str, same: bool) -> None:
    """Paths, numbers, hashes, times and colours differ, names in quotation marks do not."""
    assert error_signature(first)
    assert (error_signature(first) == error_signature(second)) is same


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ("FEHLER: Zeitüberschreitung beim Verbinden nach 30 s", "„Zeitüberschreitung beim Verbinden“: VPN aus"),
        ("Erreur : Connexion refusée par le serveur", "« Connexion refusée par le serveur » : le VPN est coupé"),
        ("エラー: 接続が拒否されました: 10.0.0.1", "「接続が拒否されました」はVPNが切れている"),
        ("错误：找不到模块配置文件", "“找不到模块配置文件”：先运行 make setup"),
    ],
)
def test_an_error_is_named_in_the_quotation_marks_of_a_language(error: str, text: str) -> None:
    """In those that it is written with, and without spaces where it has none."""
    assert reason_for_call(ToolCall("Bash", (), "./start", error), "fact", text) == "it names the same error"
    assert "!" in trigger_names("fact", text)


@pytest.mark.parametrize("line", ["Traceback (most recent call last):", "Error:", "FAIL", "  at run (a.js:1:2)", ""])
def test_a_line_of_every_failure_has_no_signature(line: str) -> None:
    """It would make all errors the same one."""
    assert error_signature(line) == ""
