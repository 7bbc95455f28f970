-- unit: row, 1 row each, add/remove · bounds: fee [0, 50] · keys: branch, public · budget: epsilon=1
SELECT branch, COUNT(*)
FROM (SELECT borrower, branch FROM loans WHERE fee > 40 UNION ALL SELECT borrower, branch FROM loans WHERE fee < 1) AS t
GROUP BY branch;
-- plan:      union all(loans → bound 8 → where | loans → bound 8 → where) → group(branch 11) → rows() → count
-- stability: count 16 · groups touched 11 · rows in one 16
-- price:     epsilon 1 = 1 Laplace(scale 16) on the count
