-- unit: person, 8 rows each, add/remove · keys: ward, public · budget: epsilon=1
SELECT ward, COUNT(*) FROM people GROUP BY ward;
-- plan:      people → bound 8 → group(ward 4) → rows() → count
-- stability: count 8 · groups touched 4 · rows in one 8
-- price:     epsilon 1 = 1 Laplace(scale 8) on the count
