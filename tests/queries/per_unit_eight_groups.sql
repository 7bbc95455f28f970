-- unit: row, 1 row each, add/remove · bounds: fee [0, 50] · keys: branch, public · budget: epsilon=1
SELECT branch, AVG(paid)
FROM (SELECT borrower, branch, SUM(fee) AS paid FROM loans GROUP BY borrower, branch) AS t
GROUP BY branch;
-- plan:      loans → bound 8 → per unit(branch, sum) → group(branch 11) → rows(), sum(total 0) → avg
-- stability: count 8 · sum 400 · groups touched 8 · rows in one 1
-- price:     epsilon 1 = 0.73 Laplace(scale 10.9589) on the count + 0.27 Laplace(scale 1481.48) on the sum
