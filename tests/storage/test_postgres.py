"""What only the PostgreSQL store has: the second wall, several servers at once, and names without secrets."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import psycopg
import pytest

import memotherm
from memotherm import Memotherm, Scope, Settings, Tier
from memotherm.errors import InvalidInput, PluginUnavailable, SchemaTooNew, StoreBusy, StoreDamaged, StoreUnavailable
from memotherm.model.actions import Action
from memotherm.storage.open import open_store
from memotherm.storage.postgres.connections import without_secrets
from memotherm.storage.postgres.store import PostgresStore
from memotherm.storage.postgres.transaction import lexemes
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, Search, TextMatches
from memotherm.testing import FakeClock, HashEmbedder
from memotherm.tiers.scheduler import Scheduler
from tests.citus.plans import captured
from tests.helpers import contents, python, together
from tests.postgres import Cluster, admin_of, database, empty_database
from tests.round_trips import RoundTrips

#: Tables in which no row belongs to a tenant: what the store knows of itself.
_COMMON = {"meta", "embedders"}
#: Tables that only work for all tenants may see.
_OPERATOR = {"key_values"}
#: What every tenant reads and only the operator writes.
_PUBLISHED = {"adoptions"}
_PATIENCE = 60


@pytest.fixture
def url(postgres: str) -> Iterator[str]:
    """A database with the schema in it."""
    with database(postgres) as found:
        yield found


@pytest.fixture
def mem(url: str, clock: FakeClock) -> Iterator[Memotherm]:
    """A memory on the server, checked at the end."""
    with memotherm.open(url, embedder=HashEmbedder(), clock=clock, settings=Settings()) as found:
        yield found
        assert found.check() == []


def tables(connection: psycopg.Connection[tuple[str]]) -> set[str]:
    rows = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'memotherm'::regnamespace AND relkind = 'r'"
    )
    return {name for (name,) in rows}


def fill(mem: Memotherm) -> None:
    """Put something of two tenants into every table that belongs to one."""
    for tenant in ("acme", "rival"):
        view = mem.scoped(tenant=tenant)
        session = view.session("s")
        session.add(f"a message of {tenant}", metadata={"speaker": "Ann"})
        view.purge(view.remember(f"gone from {tenant}").id)
        view.remember(f"the secret of {tenant}", tags=["red"])
        view.feedback(view.recall("secret"), [view.find(contains="secret")[0].id])
        session.before_turn("the secret?")
        session.flush_due(190_000)
    mem.store.maintenance().run_once()


# The second wall


def test_every_table_of_tenants_has_the_wall(url: str) -> None:
    """Row-level security is on and forced wherever a row belongs to somebody; the tenant leads every key."""
    with psycopg.connect(url) as connection:
        walled = {
            name
            for (name,) in connection.execute(
                "SELECT relname FROM pg_class WHERE relnamespace = 'memotherm'::regnamespace"
                " AND relkind = 'r' AND relrowsecurity AND relforcerowsecurity"
            )
        }
        led = {
            name
            for (name,) in connection.execute(
                "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
                " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]"
                " WHERE i.indisprimary AND a.attname = 'tenant' AND c.relnamespace = 'memotherm'::regnamespace"
            )
        }

        assert walled == tables(connection) - _COMMON
        assert led == walled - _OPERATOR - _PUBLISHED


def test_a_query_that_forgets_the_scope_sees_nothing_of_another_tenant(mem: Memotherm, url: str) -> None:
    """Without any filter, each table shows the tenant's rows and those of nobody in particular."""
    fill(mem)
    mem.remember("for everybody")
    seen: dict[str, set[str]] = {}
    with psycopg.connect(url) as connection:
        for name in tables(connection) - _COMMON - _OPERATOR - _PUBLISHED:
            for tenant in ("acme", ""):
                connection.execute("SELECT set_config('memotherm.tenant', %s, true)", (tenant,))
                rows = connection.execute(f"SELECT DISTINCT tenant FROM memotherm.{name}").fetchall()
                seen[f"{name} as {tenant!r}"] = {found for (found,) in rows}

    assert {"acme", ""} == set().union(*seen.values())
    assert all("rival" not in found for found in seen.values())
    assert all("acme" not in found for place, found in seen.items() if place.endswith("''"))
    missing = {place for place, found in seen.items() if place.endswith("'acme'") and "acme" not in found}
    assert missing <= {f"{name} as 'acme'" for name in ("notes", "roots", "chunks")}, "fill() left tables empty"


def test_a_store_that_forgets_the_scope_sees_nothing_of_another_tenant(mem: Memotherm) -> None:
    """Given all spaces of all tenants, a tenant's store still finds nothing that is not its own."""
    fill(mem)
    everything = mem._services.all_tenants.spaces_within(Scope())
    nos = list(range(1, 100))
    tenant = mem._services.all_tenants.for_tenant("acme")
    search = Search(spaces=everything, now=mem._view.now())
    found = tenant.search_text(search, ["secret", "messag"], 100).scores
    near = tenant.search_vector(search, HashEmbedder().embed(["secret"])[0], 100)

    assert len(mem._services.all_tenants.records(nos)) > len(tenant.records(nos)) > 0
    for numbers in (list(found), list(near), tenant.active(nos).no.tolist()):
        assert numbers
        assert {record.memory.scope.tenant for record in mem._services.all_tenants.records(numbers).values()} == {
            "acme"
        }
    rivals = [
        record for record in mem._services.all_tenants.records(nos).values() if record.memory.scope.tenant == "rival"
    ]
    assert all(tenant.events(record) == [] for record in rivals)
    assert all(tenant.get(everything, record.memory.id) is None for record in rivals)


def test_a_tenant_cannot_write_for_another_one(mem: Memotherm, url: str) -> None:
    """Neither add, nor change, nor drop."""
    fill(mem)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET memotherm.tenant = 'acme'; SET search_path = memotherm, public")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO tallies VALUES ('rival', 1, 'x', 1, 1)")
        assert connection.execute("UPDATE memories SET content = 'mine' WHERE tenant = 'rival'").rowcount == 0
        assert connection.execute("DELETE FROM events WHERE tenant <> 'acme'").rowcount == 0


def test_key_value_pairs_are_hidden_from_tenants(mem: Memotherm, url: str) -> None:
    """API keys and answers to requests are seen by work for all tenants only."""
    mem.store.key_value("keys").put("k", {"hash": "x"})
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('memotherm.tenant', 'acme', true)")
        assert connection.execute("SELECT count(*) FROM memotherm.key_values").fetchone() == (0,)
    assert mem.scoped(tenant="acme").store.key_value("keys").get("k") == {"hash": "x"}


def test_a_tenants_recall_counts_the_use_of_what_everybody_shares(mem: Memotherm) -> None:
    """Shared memories that tenants live on must not look unused."""
    shared = mem.remember("The status page is at status.example")
    mem.scoped(tenant="acme").recall("status page")

    assert mem.get(shared.id).access_count == 1


def test_a_tenants_feedback_counts_for_what_everybody_shares(mem: Memotherm) -> None:
    """A shared memory that a tenant opens, and confirms, has the weight of these uses as its own memories have."""
    acme = mem.scoped(tenant="acme")
    shared, own = mem.remember("The status page is at status.example"), acme.remember("The status page is green")
    found = acme.recall("status page")
    for memory in (shared, own):
        acme.get(memory.id)
    assert set(acme.feedback(found, [shared.id, own.id]).confirmed) == {shared.id, own.id}

    weights = {memory.id: memory.use_weight for memory in acme.find()}
    assert weights == {shared.id: weights[own.id], own.id: 1 + 1 + 2}


def test_a_recall_reads_nothing_twice(url: str) -> None:
    """No two statements of a recall are the same, with the same parameters."""
    statements = [
        (query, repr(values))
        for query, values in captured(url, "acme", lambda mem: mem.recall("the first otter"), HashEmbedder())
        if not query.startswith(("BEGIN", "COMMIT", "SELECT set_config"))
    ]
    assert len(statements) > 5
    assert len({*statements}) == len(statements)


@pytest.fixture
def proxy(url: str) -> Iterator[RoundTrips]:
    """A proxy that counts how often a client waits for the server."""
    with RoundTrips.counted(url) as found:
        yield found


@pytest.fixture
def acme(proxy: RoundTrips) -> Iterator[Memotherm]:
    """The memory of a tenant behind the proxy."""
    with memotherm.open(proxy.url, embedder=HashEmbedder(), settings=Settings(recall_log="off")) as mem:
        yield mem.scoped(tenant="acme")


def waits(proxy: RoundTrips, call: Callable[[], object]) -> int:
    """Return how often a call waits for the server."""
    before = proxy.count
    call()
    return proxy.count - before


def test_statements_are_sent_together(proxy: RoundTrips, acme: Memotherm) -> None:
    """A recall waits for scopes and embedder, searches, candidates, and successors, a context for hot memories too."""
    acme.remember("never swim alone", priority="pinned")
    for count in (2, 40):
        stored = [{"content": f"otter {number} of {count}"} for number in range(count)]
        assert waits(proxy, partial(acme.remember_many, stored)) == 5
    assert waits(proxy, lambda: acme.remember("an otter of its own")) == 5
    for search in (acme.recall, acme.context):
        search("which otter?", track=False)
    assert waits(proxy, lambda: acme.recall("which otter?", track=False)) == 4
    assert waits(proxy, lambda: acme.recall("which other otter?", limit=30, track=False)) == 4
    assert waits(proxy, lambda: acme.context("which otter?", track=False)) == 5


def test_a_recall_knows_what_another_process_has_changed(acme: Memotherm, url: str) -> None:
    """Another process adds a space, or lets another embedder serve; the next recall knows it."""
    acme.remember("an otter of the river")
    assert contents(acme.recall("otter", track=False)) == ["an otter of the river"]

    with memotherm.open(url, embedder=HashEmbedder(), settings=Settings()) as other:
        other.remember("an otter for every tenant")
    found = acme.recall("otter", track=False)

    assert {*contents(found)} == {"an otter of the river", "an otter for every tenant"}

    with memotherm.open(url, embedder=HashEmbedder(48), settings=Settings()) as other:
        other.store.reembed()
    assert "hash-48-0" in str(acme.recall("otter", track=False).degraded)


def test_a_recall_does_not_wait_for_its_commit(proxy: RoundTrips, acme: Memotherm) -> None:
    """It returns before the server has answered the commit; the next one reads that answer with its own."""
    acme.remember("an otter of the river")
    acme.recall("otter", track=False)
    proxy.answering.clear()
    with ThreadPoolExecutor(1) as pool:
        try:
            found = pool.submit(acme.recall, "otter", track=False).result(_PATIENCE)
        finally:
            proxy.answering.set()

    assert contents(found) == contents(acme.recall("otter", track=False)) == ["an otter of the river"]


def test_many_memories_are_stored_at_once(url: str) -> None:
    """How many statements are run does not depend on how few memories are stored by one call."""

    def statements(count: int) -> int:
        contents = [{"content": f"otter {number} of {count}", "tags": ["river"]} for number in range(count)]
        return len(captured(url, "acme", lambda mem: mem.remember_many(contents), HashEmbedder()))

    assert statements(2) == statements(15)


def test_memories_of_several_tenants_in_one_transaction_stay_apart(mem: Memotherm, clock: FakeClock) -> None:
    """Each memory and its event belong to the tenant of its scope."""
    tenants = [mem.scoped(tenant=name) for name in ("acme", "rival")]
    models = [tenant.remember(f"the first of {tenant.scope.tenant}") for tenant in tenants]

    def insert(transaction: Transaction) -> None:
        for number in range(130):
            for model in models:
                memory = replace(model, id=f"{model.id[:-3]}{number:03}")
                cause = Cause(action=Action.REMEMBER, at=clock())
                transaction.insert(transaction.space(model.scope), memory, None, cause)

    mem._services.store.for_tenant(None).transact(insert)
    assert [tenant.count() for tenant in tenants] == [131, 131]
    assert [len(tenant.events(limit=1000).events) for tenant in tenants] == [131, 131]


def test_a_role_that_walls_do_not_hold_is_told(url: str, postgres: str, caplog: pytest.LogCaptureFixture) -> None:
    """The store works for a superuser, and says that the second wall is not there."""
    with closing(open_store(admin_of(url, postgres), Settings())):
        assert "row-level security" in caplog.text
    caplog.clear()
    with closing(open_store(url, Settings())):
        assert caplog.text == ""


# Several servers


def test_servers_that_start_at_once_make_one_schema(postgres: str) -> None:
    """Who comes second waits, and finds it done."""
    with empty_database(postgres) as url:
        stores = together(*[lambda: open_store(url, Settings())] * 4)
        for store in stores:
            assert store.check() == []
            store.close()


def test_a_newer_schema_is_left_alone(postgres: str) -> None:
    """A store of a newer Memotherm is named as such."""
    with empty_database(postgres) as url:
        open_store(url, Settings()).close()
        with psycopg.connect(url) as connection:
            connection.execute("COMMENT ON SCHEMA memotherm IS 'Memotherm, version 999'")
        with pytest.raises(SchemaTooNew, match="999"):
            open_store(url, Settings())


@pytest.mark.slow
def test_processes_write_side_by_side(mem: Memotherm, url: str) -> None:
    """Nothing is lost, nothing comes twice, and every event has a number of its own."""
    code = (
        "import sys, memotherm\n"
        "from memotherm.testing import HashEmbedder\n"
        "with memotherm.open(sys.argv[1], embedder=HashEmbedder()) as mem:\n"
        "    for number in range(30):\n"
        "        mem.scoped(tenant=f't{number % 3}').remember(f'fact {number} of {sys.argv[2]}')\n"
        "        mem.remember(f'fact {number} of everybody')\n"
    )
    done = together(*[lambda who=who: python(code, url, who) for who in "abc"])

    assert [each.stderr for each in done] == [""] * 3
    assert sum(count.memories for count in mem.status(include_narrower=True).tiers.values()) == 90 + 30
    assert sum(count.memories for count in mem.status().tiers.values()) == 30
    assert {memory.access_count for memory in mem.find(limit=100)} == {2}


def test_a_dropped_text_index_is_said_named_and_rebuilt(url: str) -> None:
    """A recall goes on by vectors once the store is opened again, a check names the index, and tenants stay apart."""
    with memotherm.open(url, embedder="local") as mem:
        ferry = mem.scoped(tenant="acme").remember("The ferry leaves at noon")
        with psycopg.connect(url) as server:
            server.execute("DROP TABLE memotherm.texts")
        with pytest.raises(StoreDamaged, match="open the store again"):
            mem.scoped(tenant="acme").recall("ferry")
    with memotherm.open(url, embedder="local") as mem:
        acme, other = mem.scoped(tenant="acme"), mem.scoped(tenant="other")
        found = acme.recall("When does the boat depart?")
        assert [hit.memory.id for hit in found] == [ferry.id]
        assert "the text index" in found.degraded[0]
        assert [problem.code for problem in mem.check()] == ["text_missing"]
        acme.remember("A new one")

        mem.store.repair()
        assert mem.check() == []
        assert acme.recall("ferry").degraded == ()
        assert len(other.recall("ferry")) == 0
    with psycopg.connect(url) as server:
        policies = "SELECT policyname, cmd, qual, with_check FROM pg_policies WHERE tablename = %s ORDER BY policyname"
        assert server.execute(policies, ["texts"]).fetchall() == server.execute(policies, ["vectors"]).fetchall()


def test_an_idempotency_key_is_claimed_by_one_server(url: str) -> None:
    """Of many who try at once, one is told that it was first; the others are told what it kept."""
    clock = FakeClock()
    stores = [open_store(url, Settings()) for _ in range(3)]
    try:
        told = together(
            *[
                lambda who=who: stores[who % 3].put_value(
                    "replies", "key", str(who), clock(), clock() + timedelta(hours=1), replace=False
                )
                for who in range(9)
            ]
        )
    finally:
        for store in stores:
            store.close()

    assert told.count(None) == 1
    assert {each for each in told if each is not None} == {str(told.index(None))}


def test_maintenance_is_shared_and_nothing_is_done_twice(mem: Memotherm, url: str, clock: FakeClock) -> None:
    """Two servers take the tenants in turns; what was done lately is left alone."""
    for number in range(12):
        mem.scoped(tenant=f"t{number}").remember("a fact")
    done: list[str | None] = []
    lock = threading.Lock()

    def job(part: Store) -> None:
        assert isinstance(part, PostgresStore)
        with lock:
            done.append(part.tenant)

    with closing(open_store(url, Settings())) as other:
        servers = [
            Scheduler(store, "maintain", job, clock, timedelta(hours=1), 0.2)
            for store in (mem._services.all_tenants, other.for_tenant(None))
        ]
        together(*[lambda each=each: each.run_once(rested=timedelta(minutes=30)) for each in servers])

        assert sorted(str(tenant) for tenant in done) == sorted(["", *(f"t{number}" for number in range(12))])
        assert not servers[0].run_once(rested=timedelta(minutes=30))
        clock.advance(hours=1)
        assert servers[1].run_once(rested=timedelta(minutes=30))


def test_the_work_of_a_server_that_was_killed_is_taken_over(mem: Memotherm, clock: FakeClock) -> None:
    """Its claim ends with its term; until then the others do the rest."""
    for tenant in ("a", "b", "c"):
        mem.scoped(tenant=tenant).remember("a fact")
    term, hour = timedelta(minutes=10), timedelta(hours=1)
    killed = mem._services.all_tenants.claims("maintain", "killed", clock, term, clock() + hour)
    taken = next(killed)
    done: list[Store] = []
    scheduler = Scheduler(mem._services.all_tenants, "maintain", done.append, clock, hour, 0.2)

    assert scheduler.run_once()
    assert len(done) == 3
    clock.advance(minutes=10)
    done.clear()
    scheduler.run_once(rested=timedelta(minutes=15))
    assert [each.tenant for each in done if isinstance(each, PostgresStore)] == [taken.store.tenant]
    killed.close()


# Trouble, and what is said of it


def test_a_full_pool_says_which_setting_to_raise(url: str) -> None:
    """Who waits in vain for a connection is told so, and the next one gets it."""
    settings = Settings(postgres_pool_size=1, busy_timeout_ms=200)
    with closing(open_store(url, settings)) as store:
        with store._exclusive(), pytest.raises(StoreBusy, match="postgres_pool_size"):
            store.seq()
        assert store.seq() == 0


def test_a_writer_waits_for_others_of_its_tenant_only(url: str) -> None:
    """Another tenant's writer goes on at once; the same tenant's gives up after its time."""
    with closing(open_store(url, Settings(busy_timeout_ms=200))) as store:
        mine, other = store.for_tenant("a"), store.for_tenant("b")
        with mine._exclusive():
            other.transact(lambda transaction: transaction.space(Scope(tenant="b")))
            with pytest.raises(StoreBusy, match="busy_timeout_ms"), mine._exclusive():
                pass


def test_connections_that_were_cut_are_replaced(mem: Memotherm, url: str, postgres: str) -> None:
    """Neither a recall nor a write notices that its idle connection is gone."""
    memory = mem.remember("The port is 5432")
    for verb in (lambda: mem.recall("port"), lambda: mem.remember("The host is db1"), lambda: mem.get(memory.id)):
        with psycopg.connect(admin_of(url, postgres), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND application_name = 'memotherm'"
            )
        assert verb() is not None


def test_what_cannot_be_reached_is_said_without_its_password() -> None:
    """The error names the place and what to check."""
    with pytest.raises(StoreUnavailable, match="check that the server runs") as raised:
        open_store("postgresql://ann:s3cret@127.0.0.1:1/db?password=s3cret", Settings())

    assert "s3cret" not in str(raised.value)
    assert without_secrets("postgres://ann:s3cret@h:5/db?sslmode=require") == "postgresql://ann@h:5/db"


def test_a_database_that_is_not_there_is_named(postgres: str) -> None:
    """A wrong name is no riddle."""
    with pytest.raises(StoreUnavailable, match="nowhere"):
        open_store(postgres.replace("/postgres", "/nowhere"), Settings())


def test_a_url_that_is_none_is_refused() -> None:
    """A typing error is not taken for a server that is down."""
    with pytest.raises(InvalidInput, match="URL"):
        open_store("postgresql://h/db?no_such_option=1", Settings())


def test_without_the_driver_the_install_line_is_told(tmp_path: Path) -> None:
    """The package works without it, until a server is named."""
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "import memotherm\n"
        "try:\n    memotherm.open('postgresql://h/db', embedder='none')\n"
        "except memotherm.errors.PluginUnavailable as exc:\n    print(exc)\n"
    )
    assert PluginUnavailable.code == "plugin_unavailable"
    assert "pip install 'memotherm[postgres]'" in python(code, folder=tmp_path).stdout


# Long texts


@pytest.mark.slow
def test_a_text_of_very_many_words_is_found_by_all_of_them(mem: Memotherm) -> None:
    """Its lexemes take more than one row may."""
    words = [f"w{number:x}q" for number in range(140_000)]
    assert len(list(lexemes(words, 1))) > 1
    memory = mem.remember(" ".join(words)[: mem.settings.max_content_chars])

    for word in (words[0], words[90_000], words[100_000]):
        assert [hit.memory.id for hit in mem.recall(word)] == [memory.id]


def test_both_stores_find_the_same_with_the_same_strength(url: str) -> None:
    """Whatever the words, in one band and in both."""
    contents = ["otter " * times + "pond " * (times % 3) + "filler words here" for times in range(1, 40)]
    found: list[list[TextMatches]] = []
    for place in (":memory:", url):
        with memotherm.open(place, embedder="none", clock=FakeClock(), settings={}) as mem:
            tiers = list(Tier)
            mem.remember_many([{"content": text, "tier": tiers[n % 3]} for n, text in enumerate(contents)])
            mem.remember_many([{"content": f"nothing of it, number {number}"} for number in range(100)])
            search = mem._view.seen()
            found.append(
                [
                    mem._services.store.search_text(replace(search, tiers=asked), ["otter", "pond", "here"], 50)
                    for asked in ((Tier.WARM,), (Tier.HOT, Tier.WARM), (Tier.COLD,), tuple(tiers))
                ]
            )
    ours, theirs = ([(list(one.scores), one.total, one.frequencies) for one in side] for side in found)

    assert ours == theirs
    assert [strength for one in found[0] for strength in one.scores.values()] == pytest.approx(
        [strength for one in found[1] for strength in one.scores.values()], rel=1e-9
    )


# Servers that fail


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A server of this test's own, as careful with the disk as one should be."""
    with Cluster.started(fast=False) as found:
        yield found


def writer(mem: Memotherm, stop: threading.Event) -> tuple[list[str], list[str]]:
    """Remember until told to stop; return what was acknowledged, and the errors in between."""
    acknowledged, errors = [], []
    number = 0
    while not stop.is_set():
        number += 1
        try:
            acknowledged.append(mem.remember(f"fact number {number}").id)
        except (StoreUnavailable, StoreBusy) as exc:
            errors.append(str(exc))
            stop.wait(0.05)
    return acknowledged, errors


@pytest.mark.slow
def test_a_server_killed_during_writes_loses_nothing_acknowledged(cluster: Cluster) -> None:
    """Our process goes on when the server is back, without being restarted."""
    admin, settings = cluster.url("postgres", "postgres"), Settings(busy_timeout_ms=30_000)
    with empty_database(admin) as url, memotherm.open(url, embedder="none", settings=settings) as mem:
        acknowledged, errors = _through_trouble(mem, [cluster.kill, cluster.start])

        assert all("check that the server runs" in error or "try again" in error for error in errors)
        assert all(mem.get(memory_id) for memory_id in acknowledged)
        assert mem.check() == []


@pytest.mark.slow
def test_a_promoted_replica_has_everything_acknowledged(cluster: Cluster) -> None:
    """With synchronous replication, the same URL leads to the new primary and nothing is missing."""
    admin = cluster.url("postgres", "postgres")
    replica = cluster.replica(cluster.folder.parent / "replica")
    replica.start()
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        connection.execute("SELECT pg_reload_conf()")
    try:
        with empty_database(admin, drop=False) as url:
            place = url.replace(f":{cluster.port}/", f":{cluster.port},127.0.0.1:{replica.port}/")
            with memotherm.open(
                f"{place}?target_session_attrs=read-write", embedder="none", settings=Settings(busy_timeout_ms=5000)
            ) as mem:
                acknowledged, _ = _through_trouble(mem, [cluster.kill, replica.promote])

                assert len(acknowledged) > 20
                assert all(mem.get(memory_id) for memory_id in acknowledged)
                assert mem.check() == []
    finally:
        replica.stop("immediate")


def _through_trouble(mem: Memotherm, trouble: Sequence[Callable[[], None]]) -> tuple[list[str], list[str]]:
    """Let a writer go on while things happen to the server, until it has written again afterwards."""
    stop = threading.Event()
    result: list[tuple[list[str], list[str]]] = []
    thread = threading.Thread(target=lambda: result.append(writer(mem, stop)))
    thread.start()
    try:
        _wait_for(lambda: mem.status().seq > 50)
        for each in trouble:
            each()
        before = mem.status().seq
        _wait_for(lambda: mem.status().seq > before + 20)
    finally:
        stop.set()
        thread.join()
    return result[0]


def _wait_for(happened: Callable[[], bool]) -> None:
    gone = threading.Event()
    for _ in range(600):
        if happened():
            return
        gone.wait(0.1)
    raise AssertionError("it did not happen within a minute")


# Following the ledger


def test_a_follower_of_the_ledger_misses_no_event(mem: Memotherm, url: str, postgres: str) -> None:
    """An event whose number was assigned before that of another is handed out first, even if it is committed later."""
    shared, acme = mem.remember("what all tenants see"), mem.scoped(tenant="acme")
    acme.remember("what acme sees")
    start = f"after-{acme.events(limit=1).events[0].seq}"
    slow = open_store(url, Settings()).for_tenant("")
    with (
        closing(slow),
        ThreadPoolExecutor(1) as pool,
        psycopg.connect(admin_of(url, postgres), autocommit=True) as admin,
    ):

        def change(transaction: Transaction) -> None:
            record = transaction.get(shared.id)
            assert record is not None
            changed = replace(record.memory, metadata={"read": True})
            transaction.change(record, changed, Cause(action=Action.UPDATE, at=shared.created_at))

        with slow.unit_of_work():
            slow.transact(change)
            later = acme.remember("committed first")
            page = pool.submit(acme.events, cursor=start)

            def waits() -> bool:
                waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                return page.done() or admin.execute(waiting).fetchone() is not None

            _wait_for(waits)
        events = list(page.result(timeout=60))
        events += acme.events(cursor=f"after-{events[-1].seq}")
    assert [event.memory_id for event in events] == [shared.id, later.id]


def test_a_store_that_nobody_closes_leaves_no_connection(url: str) -> None:
    """The connections of its pool are closed when it is collected, without a warning."""
    query = (
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'memotherm' AND datname = current_database()"
    )
    store = open_store(url, Settings())
    assert store.spaces(Scope(tenant="acme")) == ()
    with psycopg.connect(url, autocommit=True) as connection:
        assert connection.execute(query).fetchone() == (1,)
        del store
        gc.collect()
        deadline = time.monotonic() + _PATIENCE
        while connection.execute(query).fetchone() != (0,):
            assert time.monotonic() < deadline
            time.sleep(0.05)
