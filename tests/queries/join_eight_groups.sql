-- unit: row, 1 row each, add/remove · bounds: income [0, 200000] · keys: branch, public · budget: epsilon=1
SELECT branch, COUNT(*)
FROM loans JOIN people ON loans.borrower = people.person
WHERE income < 20000
GROUP BY branch;
-- plan:      loans → bound 8 → inner join on unit(people → bound 1) → where → group(branch 11) → rows() → count
-- stability: count 8 · groups touched 8 · rows in one 8
-- price:     epsilon 1 = 1 Laplace(scale 8) on the count
