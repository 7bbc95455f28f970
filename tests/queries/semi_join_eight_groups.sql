-- unit: row, 1 row each, add/remove · keys: branch, public · budget: epsilon=1
SELECT branch, COUNT(*)
FROM loans
WHERE borrower IN (SELECT person FROM people WHERE ward = 'a')
GROUP BY branch;
-- plan:      loans → bound 8 → semi-join(people → bound 1 → where) → group(branch 11) → rows() → count
-- stability: count 8 · groups touched 8 · rows in one 8
-- price:     epsilon 1 = 1 Laplace(scale 8) on the count
