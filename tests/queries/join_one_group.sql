-- unit: row, 1 row each, add/remove · bounds: fee [0, 50] · budget: epsilon=1
SELECT COUNT(*), AVG(fee)
FROM loans JOIN people ON loans.borrower = people.person
WHERE sex = 'F';
-- plan:      loans → bound 8 → inner join on unit(people → bound 1) → where → rows(), centred(fee) → count, avg
-- stability: count 8 · sum 200 (centred) · groups touched 1 · rows in one 8
-- price:     epsilon 1 = 0.63 Laplace(scale 12.6984) on the count + 0.37 Laplace(scale 540.541) on the sum
