-- unit: person, 2 rows each, add/remove · bounds: cost [0, 5000] step 0.01 · keys: site, public · budget: epsilon=1
SELECT site, COUNT(*), SUM(cost)
FROM people LEFT JOIN wards ON people.ward = wards.ward
WHERE cost > 10
GROUP BY site
HAVING COUNT(*) > 20;
-- plan:      people → bound 2 → left join(wards ×3) → where → group(site 3) → rows(), sum(cost) → count, sum
-- stability: count 6 · sum 30000 · groups touched 3 · rows in one 6
-- price:     epsilon 1 = 1/2 Laplace(scale 12) on the count + 1/2 Laplace(scale 60000) on the sum
