-- unit: person, 8 rows each, change-one · bounds: income [0, 200000] · keys: income, public · budget: epsilon=1
SELECT FLOOR(income / 10000) * 10000 AS income, COUNT(*) FROM people WHERE income BETWEEN 50000 AND 59999 OR ward IS NULL AND income > 195000 GROUP BY 1;
-- plan:      people → bound 8 → where → group(income 3) → rows() → count
-- stability: count 16 · groups touched 3 · rows in one 8
-- price:     epsilon 1 = 1 Laplace(scale 16) on the count
