-- unit: person, 2 rows each, add/remove · bounds: income [0, 200000] · budget: epsilon=1
SELECT STDDEV(income), AVG(income) FROM people;
-- plan:      people → bound 2 → rows(), centred(income), squares(income) → stddev_samp, avg
-- stability: count 2 · sum 200000 (centred) · squares 10000000000 (centred) · groups touched 1 · rows in one 2
-- price:     epsilon 1 = 1/3 Laplace(scale 6) on the count + 1/3 Laplace(scale 600000) on the sum + 1/3 Laplace(scale 30000000000) on the squares
