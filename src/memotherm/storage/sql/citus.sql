-- Statements of a distributed store, where those of one server do not suit: Citus sends each part of a statement to
-- the shards that it needs.

-- event_last: The newest sequence number.
SELECT greatest((SELECT coalesce(max(seq), 0) FROM {table events}), (SELECT coalesce(max(seq), 0) FROM adoptions))

-- size: The bytes that the tables and their indexes take, on the nodes that answer.
SELECT CAST(coalesce(sum(CAST(result AS BIGINT)), 0) AS BIGINT) FROM run_command_on_all_nodes($command$
    SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname IN ('memotherm', 'memotherm_shared') AND c.relkind = 'r'$command$) WHERE success

-- nodes_missing: The nodes that do not answer.
SELECT n.nodename || ':' || n.nodeport FROM run_command_on_all_nodes('SELECT 1') AS answer
JOIN pg_dist_node n ON n.nodeid = answer.nodeid WHERE NOT answer.success ORDER BY 1

-- shared_numbers: Those of some memories that have no tenant.
SELECT no FROM memotherm_shared.memories WHERE no {in nos}

-- space_copy: A scope or collection without a tenant on the copies, with the number of the original.
INSERT INTO memotherm_shared.spaces (space, tenant, project, environment, user_, agent, session, collection)
VALUES (:number, :tenant, :project, :environment, :user, :agent, :session, :collection)

-- note_copy: A file of such a scope on the copies, with the number of the original.
INSERT INTO memotherm_shared.notes (note, space, path, hash, stamp, size, messages, settled, cut, tier)
VALUES (:number, :space, :path, :hash, :stamp, :size, :messages, :settled, :cut, :tier)

-- check_copies: The copies that differ from the row that they are made of, on either side.
SELECT count(*) FROM (
    (SELECT * FROM memotherm.$table WHERE tenant = '' EXCEPT ALL SELECT * FROM memotherm_shared.$table)
    UNION ALL
    (SELECT * FROM memotherm_shared.$table EXCEPT ALL SELECT * FROM memotherm.$table WHERE tenant = '')) AS different

-- shared_any: Whether there are memories without a tenant; every node has the answer.
SELECT EXISTS (SELECT 1 FROM memotherm_shared.spaces)

-- spaces_visible: The spaces whose every set field has the caller's value, the narrowest last, the last adoption, and
-- whether there are memories without a tenant.
SELECT space, (SELECT coalesce(max(seq), 0) FROM adoptions),
    EXISTS (SELECT 1 FROM memotherm_shared.spaces) FROM {table spaces}
WHERE tenant IN ('', :tenant) AND project IN ('', :project) AND environment IN ('', :environment)
  AND user_ IN ('', :user) AND agent IN ('', :agent) AND session IN ('', :session)
ORDER BY CASE tenant WHEN '' THEN 0 ELSE 1 END + CASE project WHEN '' THEN 0 ELSE 1 END
  + CASE environment WHEN '' THEN 0 ELSE 1 END + CASE user_ WHEN '' THEN 0 ELSE 1 END
  + CASE agent WHEN '' THEN 0 ELSE 1 END + CASE session WHEN '' THEN 0 ELSE 1 END,
  CASE collection WHEN '' THEN 1 ELSE 0 END, space
