-- unit: row, 1 row each, add/remove · bounds: fee [0, 50] · budget: epsilon=1
WITH per AS (SELECT borrower, SUM(fee) AS paid FROM loans GROUP BY borrower HAVING COUNT(*) > 1)
SELECT MEDIAN(paid), AVG(paid)
FROM per;
-- plan:      loans → bound 8 → per unit(sum, rows) → where → list(total 0), rows(), centred(total 0) → quantile 0.5, avg
-- stability: count 1 · sum 200 (centred) · ranks 1 rows · groups touched 1 · rows in one 1
-- price:     epsilon 1 = 1/5 Laplace(scale 5) on the count + 3/10 Laplace(scale 666.667) on the sum + 1/2 exponential mechanism on the quantile
