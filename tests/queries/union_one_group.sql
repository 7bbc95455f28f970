-- unit: row, 1 row each, add/remove · bounds: fee [0, 50] · budget: epsilon=1
SELECT COUNT(*)
FROM (SELECT borrower FROM loans WHERE fee > 40 UNION ALL SELECT person FROM people) AS t;
-- plan:      union all(loans → bound 8 → where | people → bound 1) → rows() → count
-- stability: count 9 · groups touched 1 · rows in one 9
-- price:     epsilon 1 = 1 Laplace(scale 9) on the count
