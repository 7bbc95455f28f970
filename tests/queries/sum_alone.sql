-- unit: person, 3 rows each, add/remove · bounds: cost [0, 5000] step 0.01 · budget: epsilon=1
SELECT SUM(cost) FROM people;
-- plan:      people → bound 3 → sum(cost) → sum
-- stability: sum 15000 · groups touched 1 · rows in one 3
-- price:     epsilon 1 = 1 Laplace(scale 15000) on the sum
