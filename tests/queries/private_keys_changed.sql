-- unit: person, 3 rows each, change-one · keys: diagnosis, private · budget: epsilon=1, delta=1e-6
SELECT diagnosis, COUNT(*) FROM people GROUP BY diagnosis;
-- plan:      people → bound 3 → group(diagnosis private) → rows(), units() → count
-- stability: count 3 · groups touched 3 · rows in one 3
-- price:     epsilon 1, delta 1e-06 = 1/4 and 4.37823e-07 threshold 183 on the keys + 1/4 Laplace(scale 12) on the count
