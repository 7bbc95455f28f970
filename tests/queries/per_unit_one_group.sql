-- unit: row, 1 row each, add/remove · keys: n, public · budget: epsilon=1
SELECT n, COUNT(*)
FROM (SELECT borrower, COUNT(*) AS n FROM loans GROUP BY borrower) AS t
GROUP BY n;
-- plan:      loans → bound 8 → per unit(rows) → group(n 8) → rows() → count
-- stability: count 1 · groups touched 1 · rows in one 1
-- price:     epsilon 1 = 1 Laplace(scale 1) on the count
