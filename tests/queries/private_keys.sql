-- unit: person, 3 rows each, add/remove · bounds: cost [0, 5000] step 0.01 · keys: diagnosis, private · budget: epsilon=1, delta=1e-6
SELECT diagnosis, COUNT(*), AVG(cost) FROM people GROUP BY diagnosis;
-- plan:      people → bound 3 → group(diagnosis private) → rows(), centred(cost), units() → count, avg
-- stability: count 3 · sum 7500 (centred) · groups touched 3 · rows in one 3
-- price:     epsilon 1, delta 1e-06 = rho 0.00427626 threshold 98 on the keys + 0.39 Laplace(scale 7.69231) on the count + 0.23 Laplace(scale 32608.7) on the sum
