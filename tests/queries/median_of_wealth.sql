-- unit: person, 4 rows each, add/remove · bounds: wealth [0, 35184372088832] · budget: epsilon=1
SELECT MEDIAN(wealth) FROM people;
-- plan:      people → bound 4 → list(wealth) → quantile 0.5
-- stability: ranks 4 rows · groups touched 1 · rows in one 4
-- price:     epsilon 1 = 1 smooth sensitivity on the quantile
