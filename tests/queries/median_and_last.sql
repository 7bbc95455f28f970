-- unit: person, 4 rows each, add/remove · bounds: cost [0, 5000] step 0.01 · budget: epsilon=2
SELECT MEDIAN(cost), MAX(day) FROM people;
-- plan:      people → bound 4 → list(cost), list(day) → quantile 0.5, quantile 1
-- stability: ranks 4 rows · ranks 4 rows · groups touched 1 · rows in one 4
-- price:     epsilon 2 = 1 exponential mechanism on the quantile + 1 exponential mechanism on the quantile
