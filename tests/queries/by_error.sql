-- unit: person, 2 rows each, add/remove · bounds: income [0, 200000] · budget: error=50, confidence=0.95
SELECT COUNT(*), SUM(income / 1000) FROM people WHERE sex = 'F';
-- plan:      people → bound 2 → where → rows(), sum(income) → count, sum
-- stability: count 2 · sum 400 · groups touched 1 · rows in one 2
-- price:     epsilon 24.084326 = 0.118626 Laplace(scale 16.8597) on the count + 23.9657 Laplace(scale 16.6905) on the sum
