-- unit: person, 3 rows each, add/remove · bounds: cost [0, 5000] step 0.01 · budget: epsilon=1
SELECT SUM(cost), AVG(cost), COUNT(*) FROM people;
-- plan:      people → bound 3 → rows(), centred(cost) → sum, avg, count
-- stability: count 3 · sum 7500 (centred) · groups touched 1 · rows in one 3
-- price:     epsilon 1 = 0.61 Laplace(scale 4.91803) on the count + 0.39 Laplace(scale 19230.8) on the sum
