-- Questions of several parts, over the hospital in docs/guides/catalog.md, each at epsilon 1.
-- The first line of each says what must come; below it stands what `explain` draws, or the refusal.

-- answered: 15 percent of total, by a sub-query that is a value
SELECT ward, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM visits) AS percent FROM visits GROUP BY ward;
--   part 1
--     group by ward (5)
--       keep at most 8 rows per unit
--         scan visits
--     groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   part 2
--     all rows together
--       keep at most 8 rows per unit
--         scan visits
--     groups: one; one unit has at most 8 rows in it
--   groups: those of 2 parts; one unit can be in all parts
--   count (part 1): Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for percent
--   count (part 2): Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for value
--   percent (part 1): not known in advance; it is reported with the answer
--   price: epsilon 1

-- answered: 21 margins
SELECT ward, kind, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward, kind);
--   part 1
--     group by ward (5), kind (3)
--       keep at most 8 rows per unit
--         scan visits
--     groups: 15, all of them public; one unit touches at most 8, with at most 8 rows in each
--   part 2
--     group by ward (5)
--       keep at most 8 rows per unit
--         scan visits
--     groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   part 3
--     all rows together
--       keep at most 8 rows per unit
--         scan visits
--     groups: one; one unit has at most 8 rows in it
--   groups: those of 3 parts; one unit can be in all parts
--   count (part 1): Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   count (part 2): sum of 3 numbers of part 1, each with Laplace noise, sensitivity that of its parts, scale 8, no cost of its own
--   count (part 3): sum of 15 numbers of part 1, each with Laplace noise, sensitivity that of its parts, scale 8, no cost of its own
--   n (part 1): ± 24 at 0.95 confidence
--   n (part 2): ± 40 at 0.95 confidence
--   n (part 3): ± 86 at 0.95 confidence
--   price: epsilon 1

-- answered: 22 margins without the cells
SELECT ward, kind, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS ((ward), (kind), ());
--   part 1
--     group by ward (5)
--       keep at most 8 rows per unit
--         scan visits
--     groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   part 2
--     group by kind (3)
--       keep at most 8 rows per unit
--         scan visits
--     groups: 3, all of them public; one unit touches at most 3, with at most 8 rows in each
--   part 3
--     all rows together
--       keep at most 8 rows per unit
--         scan visits
--     groups: one; one unit has at most 8 rows in it
--   groups: those of 3 parts; one unit can be in all parts
--   count (part 1): estimate from 2 measurements with Laplace noise, shared by all parts, sensitivity that of the measurements, scale 23.9983 (deviation), pure epsilon 1 (add or remove one unit)
--   count (part 2): estimate from 2 measurements with Laplace noise, shared by all parts, sensitivity that of the measurements, scale 19.1372 (deviation), pure epsilon 1 (add or remove one unit)
--   count (part 3): estimate from 2 measurements with Laplace noise, shared by all parts, sensitivity that of the measurements, scale 29.7943 (deviation), pure epsilon 1 (add or remove one unit)
--   n (part 1): ± 51.0343 at 0.95 confidence
--   n (part 2): ± 41.2997 at 0.95 confidence
--   n (part 3): ± 61.4502 at 0.95 confidence
--   price: epsilon 1

-- answered: 23 two questions at one price
SELECT 'patients' AS what, COUNT(*) AS n FROM patients UNION ALL SELECT 'visits', COUNT(*) FROM visits;
--   part 1
--     all rows together
--       keep at most 1 row per unit
--         scan patients
--     groups: one; one unit has at most 1 row in it
--   part 2
--     all rows together
--       keep at most 8 rows per unit
--         scan visits
--     groups: one; one unit has at most 8 rows in it
--   groups: those of 2 parts; one unit can be in all parts
--   count (part 1): Laplace, sensitivity 1 (l1), scale 2, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for n
--   count (part 2): Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for count
--   n (part 1): ± 6 at 0.95 confidence
--   n (part 2): ± 48 at 0.95 confidence
--   price: epsilon 1

-- refused: 42 a number of all rows that decides about rows
SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits);
--   not_allowed: line 1, column 50: a sub-query as a value can stand beside released numbers only: here it would be one number of everybody's rows; use it in SELECT, HAVING or ORDER BY outside aggregates, or write its released number here

-- answered: 80 a number of people is not the sum of its parts
SELECT ward, COUNT(DISTINCT patient_id) AS people, AVG(cost) AS cost, GROUPING(ward) AS every FROM visits GROUP BY ROLLUP (ward);
--   part 1
--     group by ward (5)
--       keep at most 8 rows per unit
--         scan visits
--     groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   part 2
--     all rows together
--       keep at most 8 rows per unit
--         scan visits
--     groups: one; one unit has at most 8 rows in it
--   groups: those of 2 parts; one unit can be in all parts
--   number of units (part 1): Laplace, sensitivity 5 (l1), scale 20, pure epsilon 0.25 (add or remove one unit)
--       25 % of epsilon, for people
--   count (part 1): Laplace, sensitivity 8 (l1), scale 80, pure epsilon 0.1 (add or remove one unit)
--       10 % of epsilon, for cost
--   centred sum of cost (part 1): Laplace, sensitivity 20000 (l1), scale 133333, pure epsilon 0.15 (add or remove one unit)
--       15 % of epsilon, for cost
--   number of units (part 2): Laplace, sensitivity 1 (l1), scale 4, pure epsilon 0.25 (add or remove one unit)
--       25 % of epsilon, for people
--   count (part 2): Laplace, sensitivity 8 (l1), scale 80, pure epsilon 0.1 (add or remove one unit)
--       10 % of epsilon, for cost
--   centred sum of cost (part 2): Laplace, sensitivity 20000 (l1), scale 133333, pure epsilon 0.15 (add or remove one unit)
--       15 % of epsilon, for cost
--   people (part 1): ± 60 at 0.95 confidence
--   cost (part 1): needs the size of a group: --group-rows 1000 gives ± 892.507, at 0.95 confidence
--   people (part 2): ± 12 at 0.95 confidence
--   cost (part 2): needs the size of a group: --group-rows 1000 gives ± 892.507, at 0.95 confidence
--   price: epsilon 1

-- answered: 81 a margin of many cells is measured by itself
SELECT day, COUNT(*) AS n FROM visits GROUP BY ROLLUP (day);
--   part 1
--     group by day (1828)
--       keep at most 8 rows per unit
--         scan visits
--     groups: 1828, all of them public; one unit touches at most 8, with at most 8 rows in each
--   part 2
--     all rows together
--       keep at most 8 rows per unit
--         scan visits
--     groups: one; one unit has at most 8 rows in it
--   groups: those of 2 parts; one unit can be in all parts
--   count (part 1): Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for n
--   count (part 2): Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for n
--   n (part 1): ± 48 at 0.95 confidence
--   n (part 2): ± 48 at 0.95 confidence
--   price: epsilon 1

-- answered: 82 a public table in a sub-query that is a value is a constant
SELECT COUNT(*) / (SELECT COUNT(*) FROM wards) AS per_ward FROM visits;
--   all rows together
--     keep at most 8 rows per unit
--       scan visits
--   groups: one; one unit has at most 8 rows in it
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   per_ward: not known in advance; it is reported with the answer
--   price: epsilon 1

-- answered: 83 order and limit of all rows
SELECT sex AS what, COUNT(*) AS n FROM patients GROUP BY sex UNION ALL SELECT kind, COUNT(*) FROM visits GROUP BY kind ORDER BY n DESC LIMIT 3;
--   part 1
--     group by what (2)
--       keep at most 1 row per unit
--         scan patients
--     groups: 2, all of them public; one unit touches at most 1, with at most 1 row in each
--   part 2
--     group by kind (3)
--       keep at most 8 rows per unit
--         scan visits
--     groups: 3, all of them public; one unit touches at most 3, with at most 8 rows in each
--   groups: those of 2 parts; one unit can be in all parts
--   count (part 1): Laplace, sensitivity 1 (l1), scale 2, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for n
--   count (part 2): Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for count
--   n (part 1): ± 9 at 0.95 confidence, for all 2 rows together
--   n (part 2): ± 77 at 0.95 confidence, for all 3 rows together
--   price: epsilon 1

-- refused: 84 UNION without ALL
SELECT COUNT(*) AS n FROM patients UNION SELECT COUNT(*) FROM visits;
--   not_allowed: line 1, column 8: UNION removes rows of the answer that are equal: questions are put one below the other by UNION ALL; write UNION ALL

-- refused: 85 columns of different kinds
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward UNION ALL SELECT age, COUNT(*) FROM patients GROUP BY age;
--   wrong_type: line 1, column 8: the column 'ward' of UNION ALL is of several kinds: number, text; select columns of one kind in the same place of each part
