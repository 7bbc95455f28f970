-- unit: row, 1 row each, change-one · bounds: income [0, 200000] · budget: epsilon=1
SELECT COUNT(*), SUM(income) FROM people;
-- plan:      people → bound 1 → rows(), sum(income) → count, sum
-- stability: count 1 · sum 200000 · groups touched 1 · rows in one 1
-- price:     epsilon 1 = 1/2 Laplace(scale 2) on the count + 1/2 Laplace(scale 400000) on the sum
