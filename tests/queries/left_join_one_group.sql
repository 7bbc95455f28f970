-- unit: row, 1 row each, add/remove · bounds: fee [0, 50] · budget: epsilon=1
SELECT COUNT(fee)
FROM people LEFT JOIN loans ON loans.borrower = people.person AND branch = 'A';
-- plan:      people → bound 1 → left join on unit(loans → bound 8 → where) → rows(fee) → count
-- stability: count 8 · groups touched 1 · rows in one 8
-- price:     epsilon 1 = 1 Laplace(scale 8) on the count
