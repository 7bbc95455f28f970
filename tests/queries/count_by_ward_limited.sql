-- unit: person, 8 rows each, 2 in a group, add/remove · keys: ward, public · budget: epsilon=1, delta=1e-6
SELECT ward, COUNT(*) FROM people GROUP BY ward;
-- plan:      people → bound 8 → group(ward 4) → rows() → count
-- stability: count 8 · groups touched 4 · rows in one 2
-- price:     epsilon 1 = 1 Laplace(scale 8) on the count
