-- unit: person, 8 rows each, add/remove · keys: month, public · budget: epsilon=1
SELECT EXTRACT(MONTH FROM day) AS month, COUNT(DISTINCT person) FROM people GROUP BY month;
-- plan:      people → bound 8 → group(month 12) → units() → units
-- stability: units 8 · groups touched 8 · rows in one 8
-- price:     epsilon 1 = 1 Laplace(scale 8) on the units
