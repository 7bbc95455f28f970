-- unit: row, 1 row each, add/remove · bounds: income [0, 200000] · keys: income, public · budget: epsilon=1/2
SELECT FLOOR(income / 10000) * 10000 AS income, COUNT(*) FROM people GROUP BY 1 ORDER BY 2 DESC LIMIT 3;
-- plan:      people → bound 1 → group(income 21) → rows() → count
-- stability: count 1 · groups touched 1 · rows in one 1
-- price:     epsilon 0.5 = 1/2 Laplace(scale 2) on the count
