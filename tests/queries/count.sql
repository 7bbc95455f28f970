-- unit: row, 1 row each, add/remove · budget: epsilon=1
SELECT COUNT(*) FROM people;
-- plan:      people → bound 1 → rows() → count
-- stability: count 1 · groups touched 1 · rows in one 1
-- price:     epsilon 1 = 1 Laplace(scale 1) on the count
