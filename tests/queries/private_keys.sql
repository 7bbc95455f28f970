-- unit: person, 3 rows each, add/remove · bounds: cost [0, 5000] step 0.01 · keys: diagnosis, private · budget: epsilon=1, delta=1e-6
SELECT diagnosis, COUNT(*), AVG(cost) FROM people GROUP BY diagnosis;
-- plan:      people → bound 3 → group(diagnosis private) → rows(), centred(cost), units() → count, avg
-- stability: count 3 · sum 7500 (centred) · groups touched 3 · rows in one 3
-- price:     epsilon 1, delta 1e-06 = 1/3 and 1e-06 threshold 130 on the keys + 1/3 Laplace(scale 9) on the count + 1/3 Laplace(scale 22500) on the sum
