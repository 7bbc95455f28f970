-- unit: row, 1 row each, add/remove · budget: epsilon=1
SELECT COUNT(*)
FROM loans AS a JOIN loans AS b ON a.borrower = b.borrower
WHERE a.branch = 'A' AND b.branch = 'B';
-- plan:      loans → bound 8 → inner join on unit(loans → bound 8) → where → rows() → count
-- stability: count 64 · groups touched 1 · rows in one 64
-- price:     epsilon 1 = 1 Laplace(scale 64) on the count
