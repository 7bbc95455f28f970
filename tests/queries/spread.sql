-- unit: person, 2 rows each, add/remove · bounds: income [0, 200000] · budget: epsilon=1
SELECT STDDEV(income), AVG(income) FROM people;
-- plan:      people → bound 2 → rows(), centred(income), squares(income) → stddev_samp, avg
-- stability: count 2 · sum 200000 (centred) · squares 10000000000 (centred) · groups touched 1 · rows in one 2
-- price:     epsilon 1 = 0.33 Laplace(scale 6.06061) on the count + 11/25 Laplace(scale 454545) on the sum + 0.23 Laplace(scale 4.34783e+10) on the squares
