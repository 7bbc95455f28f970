-- unit: row, 1 row each, add/remove · bounds: cost [0, 5000] step 0.01 · keys: day_of_year, ward, public · budget: epsilon=1, delta=1e-9
SELECT EXTRACT(DOY FROM day) AS day_of_year, ward, COUNT(*), SUM(cost)
FROM people
GROUP BY 1, 2;
-- plan:      people → bound 1 → group(day_of_year 366, ward 4) → rows(), sum(cost) → count, sum
-- stability: count 1 · sum 5000 · groups touched 1 · rows in one 1
-- price:     epsilon 1 = 1/2 Laplace(scale 2) on the count + 1/2 Laplace(scale 10000) on the sum
