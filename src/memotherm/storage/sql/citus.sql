-- Statements of a distributed store, where those of one server do not suit: Citus sends each part of a statement to
-- the shards that it needs.

-- event_last: The newest sequence number.
SELECT coalesce(max(seq), 0) FROM events

-- size: The bytes that the tables and their indexes take, on all nodes.
SELECT CAST(coalesce(sum(citus_total_relation_size(logicalrelid)), 0) AS BIGINT) FROM pg_dist_partition p
JOIN pg_class c ON c.oid = p.logicalrelid
WHERE c.relnamespace IN (to_regnamespace(:schema), to_regnamespace(:schema || '_shared'))

-- shared_numbers: Those of some memories that have no tenant.
SELECT no FROM memotherm_shared.memories WHERE no {in nos}

-- rows_own: A table, as the rows of one tenant.
SELECT * FROM memotherm.$table WHERE tenant = :own_tenant

-- rows_visible: A table, as the rows of a tenant and the copies of those without a tenant. The column `shard` is the same
-- for both, so that one condition selects the shard; a condition inside the union would prevent joins by an index.
SELECT * FROM (
    SELECT *, tenant AS shard FROM memotherm.$table
    UNION ALL
    SELECT *, CAST(:own_tenant AS TEXT) COLLATE "C" FROM memotherm_shared.$table) AS visible
WHERE shard = :own_tenant

-- check_copies: The copies that differ from the row that they are made of, on either side.
SELECT count(*) FROM (
    (SELECT * FROM memotherm.$table WHERE tenant = '' EXCEPT ALL SELECT * FROM memotherm_shared.$table)
    UNION ALL
    (SELECT * FROM memotherm_shared.$table EXCEPT ALL SELECT * FROM memotherm.$table WHERE tenant = '')) AS different
