-- unit: row, 1 row each, add/remove · bounds: fee [0, 50] · keys: sex, public · budget: epsilon=1
SELECT sex, COUNT(*)
FROM people
WHERE EXISTS (SELECT 1 FROM loans WHERE loans.borrower = people.person AND fee > 10)
GROUP BY sex;
-- plan:      people → bound 1 → semi-join(loans → bound 8 → where) → group(sex 3) → rows() → count
-- stability: count 1 · groups touched 1 · rows in one 1
-- price:     epsilon 1 = 1 Laplace(scale 1) on the count
