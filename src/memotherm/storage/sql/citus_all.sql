-- Statements for all tenants of a distributed store: what other tables decide is read first, as Citus can only join
-- distributed tables by the tenant.

-- text_search: The memories of a band that have some of the words, of all tenants.
WITH postings AS MATERIALIZED (
    SELECT a.place, t.no
    FROM unnest(CAST(:scoped AS TSQUERY[])) WITH ORDINALITY AS a (scoped, place) JOIN texts t ON t.lexemes @@ a.scoped
    WHERE {band t}t.space {in spaces} AND t.tier {in tiers}
), expired AS MATERIALIZED (
    SELECT no FROM memories
    WHERE retention = 0 AND expires_at IS NOT NULL AND expires_at <= :now AND priority > 0 AND space {in spaces}
), passing AS MATERIALIZED (
    SELECT no FROM memories WHERE NOT $any AND $conditions
), searched AS MATERIALIZED (
    SELECT CAST(coalesce(sum(memories), 0) AS DOUBLE PRECISION) AS total FROM counters
    WHERE retention = 0 AND space {in spaces} AND tier {in all_tiers}
), counted AS (
    SELECT place, count(*) AS found, count(*) + (CAST(:others AS BIGINT[]))[place] AS times FROM postings GROUP BY place
), weighed AS (
    SELECT place, ln(1 + greatest(total - times + 0.5, 0) / (times + 0.5)) AS weight FROM counted, searched
), scored AS (
    SELECT no, sum(weight ORDER BY place) AS strength FROM postings JOIN weighed USING (place) GROUP BY no
)
(SELECT no, strength FROM scored
WHERE no NOT IN (SELECT no FROM expired) AND ($any OR no IN (SELECT no FROM passing))
ORDER BY strength DESC, no DESC LIMIT :limit)
UNION ALL SELECT -place, found FROM counted

-- vector_near: The nearest live vectors of all tenants.
WITH expired AS MATERIALIZED (
    SELECT no FROM memories
    WHERE retention = 0 AND expires_at IS NOT NULL AND expires_at <= :now AND priority > 0 AND space {in spaces}
)
SELECT no, max(-(vector <#> :vector)) AS strength FROM vectors
WHERE embedder = $number AND tier < 2 AND space {in spaces} AND tier {in tiers} AND no NOT IN (SELECT no FROM expired)
GROUP BY no ORDER BY strength DESC, no DESC LIMIT least(:limit, :wanted)

-- vector_exact: The nearest of all vectors in some places, of all tenants.
WITH expired AS MATERIALIZED (
    SELECT no FROM memories
    WHERE retention = 0 AND expires_at IS NOT NULL AND expires_at <= :now AND priority > 0 AND space {in spaces}
), passing AS MATERIALIZED (
    SELECT no FROM memories WHERE NOT $any AND $conditions
)
SELECT no, max(-(vector <#> :vector)) AS strength FROM vectors
WHERE embedder = :number AND space {in spaces} AND tier {in tiers}
  AND no NOT IN (SELECT no FROM expired) AND ($any OR no IN (SELECT no FROM passing))
GROUP BY no ORDER BY strength DESC, no DESC LIMIT :limit

-- find_sorted: A page of memories of all tenants in another order. Its conditions are those of `select`.
WITH page AS MATERIALIZED (
    SELECT no FROM memories WHERE $space {in spaces} AND $conditions ORDER BY $order LIMIT :limit OFFSET :skip
)
SELECT {columns} FROM memories WHERE no IN (SELECT no FROM page) ORDER BY $order
