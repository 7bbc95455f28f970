-- unit: row, 1 row each, add/remove · bounds: cost [0, 5000] step 0.01 · budget: epsilon=1
SELECT SUM(cost - 1000) FROM people;
-- plan:      people → bound 1 → sum(expression) → sum
-- stability: sum 4000 · groups touched 1 · rows in one 1
-- price:     epsilon 1 = 1 Laplace(scale 4000) on the sum
