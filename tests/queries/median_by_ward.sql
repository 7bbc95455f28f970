-- unit: person, 4 rows each, add/remove · bounds: cost [0, 5000] step 0.01 · keys: ward, public · budget: epsilon=1
SELECT ward, MEDIAN(cost) FROM people GROUP BY ward;
-- plan:      people → bound 4 → group(ward 4) → list(cost) → quantile 0.5
-- stability: ranks 4 rows · groups touched 4 · rows in one 4
-- price:     epsilon 1 = 1 exponential mechanism on the quantile
