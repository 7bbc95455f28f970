-- unit: row, 1 row each, add/remove · keys: branch, public · budget: epsilon=1
SELECT branch, COUNT(*)
FROM people LEFT JOIN loans ON loans.borrower = people.person
GROUP BY branch;
-- plan:      people → bound 1 → left join on unit(loans → bound 8) → group(branch 11) → rows() → count
-- stability: count 8 · groups touched 8 · rows in one 8
-- price:     epsilon 1 = 1 Laplace(scale 8) on the count
