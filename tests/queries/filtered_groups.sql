-- unit: person, 8 rows each, add/remove · keys: ward, month, public · budget: epsilon=1
SELECT ward, DATE_TRUNC('month', day) AS month, COUNT(DISTINCT person) FROM people WHERE ward <> 'a' AND day < '2020-03-10' GROUP BY ward, month;
-- plan:      people → bound 8 → where → group(ward 2, month 3) → units() → units
-- stability: units 6 · groups touched 6 · rows in one 8
-- price:     epsilon 1 = 1 Laplace(scale 6) on the units
