-- unit: row, 1 row each, add/remove · bounds: income [0, 200000] · budget: epsilon=1
SELECT AVG(income)
FROM people
WHERE person NOT IN (SELECT borrower FROM loans);
-- plan:      people → bound 1 → anti-join(loans → bound 8) → rows(), centred(income) → avg
-- stability: count 1 · sum 100000 (centred) · groups touched 1 · rows in one 1
-- price:     epsilon 1 = 0.41 Laplace(scale 2.43902) on the count + 0.59 Laplace(scale 169492) on the sum
