-- Questions over several tables of the hospital in docs/guides/catalog.md, as analysts write them, each at epsilon 1.
-- The first line of each says what must come; below it stands what `explain` draws, or the refusal.

-- answered: 1 a child with its declared parent
SELECT p.sex, COUNT(*) AS n, AVG(v.cost) AS cost FROM visits v JOIN patients p ON v.patient_id = p.id GROUP BY p.sex;
--   group by sex (2)
--     inner join on the unit: at most 8 rows per unit
--       keep at most 8 rows per unit
--         scan visits
--       keep at most 1 row per unit
--         scan patients
--   groups: 2, all of them public; one unit touches at most 2, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 12.6984, pure epsilon 0.63 (add or remove one unit)
--       63 % of epsilon, for n, cost
--   centred sum of cost: Laplace, sensitivity 20000 (l1), scale 54054.1, pure epsilon 0.37 (add or remove one unit)
--       37 % of epsilon, for cost
--   n: ± 38 at 0.95 confidence
--   cost: needs the size of a group: --group-rows 1000 gives ± 186.457, at 0.95 confidence
--   price: epsilon 1

-- answered: 2 filters on both sides, and a public table
SELECT w.floor, p.sex, COUNT(*) AS n FROM visits v JOIN patients p ON p.id = v.patient_id JOIN wards w ON w.ward = v.ward WHERE p.age >= 65 AND v.urgent GROUP BY w.floor, p.sex;
--   group by floor (102), sex (2)
--     where: at most 8 rows per unit
--       inner join wards, at most 1 match per row: at most 8 rows per unit
--         inner join on the unit: at most 8 rows per unit
--           keep at most 8 rows per unit
--             scan visits
--           keep at most 1 row per unit
--             scan patients
--   groups: 204, all of them public; one unit touches at most 8, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   price: epsilon 1

-- answered: 3 children counted from the parent, people without visits included
SELECT p.sex, COUNT(v.cost) AS visits FROM patients p LEFT JOIN visits v ON v.patient_id = p.id GROUP BY p.sex;
--   group by sex (2)
--     left join on the unit: at most 8 rows per unit
--       keep at most 1 row per unit
--         scan patients
--       keep at most 8 rows per unit
--         scan visits
--   groups: 2, all of them public; one unit touches at most 2, with at most 8 rows in each
--   count of cost: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   visits: ± 24 at 0.95 confidence
--   price: epsilon 1

-- answered: 4 visits per patient
SELECT AVG(n) AS visits FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS t;
--   all rows together
--     one row per unit: at most 1 row per unit
--       keep at most 8 rows per unit
--         scan visits
--   groups: one; one unit has at most 1 row in it
--   count: Laplace, sensitivity 1 (l1), scale 2.43902, pure epsilon 0.41 (add or remove one unit)
--       41 % of epsilon, for visits
--   centred sum of rows per unit: Laplace, sensitivity 3.5 (l1), scale 5.9322, pure epsilon 0.59 (add or remove one unit)
--       59 % of epsilon, for visits
--   visits: needs the size of a group: --group-rows 1000 gives ± 0.0306185, at 0.95 confidence
--   price: epsilon 1

-- answered: 5 the distribution of a per-person total
SELECT FLOOR(total / 1000) AS bucket, COUNT(*) AS people FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) AS t GROUP BY bucket;
--   group by bucket (41)
--     one row per unit: at most 1 row per unit
--       keep at most 8 rows per unit
--         scan visits
--   groups: 41, all of them public; one unit touches at most 1, with at most 1 row in each
--   count: Laplace, sensitivity 1 (l1), scale 1, pure epsilon 1 (add or remove one unit)
--   people: ± 3 at 0.95 confidence
--   price: epsilon 1

-- answered: 6 median of a per-person total, with a filter inside and outside
SELECT MEDIAN(total) AS half FROM (SELECT patient_id, SUM(cost) AS total, COUNT(*) AS n FROM visits WHERE kind = 'emergency' GROUP BY patient_id) AS t WHERE n >= 2;
--   all rows together
--     where: at most 1 row per unit
--       one row per unit: at most 1 row per unit
--         where: at most 8 rows per unit
--           keep at most 8 rows per unit
--             scan visits
--   groups: one; one unit has at most 1 row in it
--   quantile 0.5: exponential mechanism, one draw of both ends, and one of the value for few rows, sensitivity 0.5 ranks, scale 24 ranks to each end, pure epsilon 1 (add or remove one unit)
--       few rows: below about 96, which a draw of its own tells; the interval comes from the draws
--   half: not known in advance; it is reported with the answer
--   price: epsilon 1

-- answered: 7 people by a condition on their rows
SELECT sex, COUNT(*) AS people FROM patients WHERE id IN (SELECT patient_id FROM visits WHERE kind = 'emergency') GROUP BY sex;
--   group by sex (2)
--     rows with a match of the same unit: at most 1 row per unit
--       keep at most 1 row per unit
--         scan patients
--       where: at most 8 rows per unit
--         keep at most 8 rows per unit
--           scan visits
--   groups: 2, all of them public; one unit touches at most 1, with at most 1 row in each
--   count: Laplace, sensitivity 1 (l1), scale 1, pure epsilon 1 (add or remove one unit)
--   people: ± 3 at 0.95 confidence
--   price: epsilon 1

-- answered: 8 people without a row that meets a condition
SELECT COUNT(*) AS people FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id AND v.ward = 'north');
--   all rows together
--     rows without a match of the same unit: at most 1 row per unit
--       keep at most 1 row per unit
--         scan patients
--       where: at most 8 rows per unit
--         keep at most 8 rows per unit
--           scan visits
--   groups: one; one unit has at most 1 row in it
--   count: Laplace, sensitivity 1 (l1), scale 1, pure epsilon 1 (add or remove one unit)
--   people: ± 3 at 0.95 confidence
--   price: epsilon 1

-- answered: 9 rows by a condition on their person
SELECT ward, COUNT(*) AS n FROM visits WHERE patient_id IN (SELECT id FROM patients WHERE age < 18) GROUP BY ward;
--   group by ward (5)
--     rows with a match of the same unit: at most 8 rows per unit
--       keep at most 8 rows per unit
--         scan visits
--       where: at most 1 row per unit
--         keep at most 1 row per unit
--           scan patients
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   price: epsilon 1

-- answered: 10 a self-join on the unit
SELECT COUNT(*) AS pairs FROM visits a JOIN visits b ON a.patient_id = b.patient_id AND a.kind = 'planned' AND b.kind = 'emergency';
--   all rows together
--     where: at most 64 rows per unit
--       inner join on the unit: at most 64 rows per unit
--         keep at most 8 rows per unit
--           scan visits
--         keep at most 8 rows per unit
--           scan visits
--   groups: one; one unit has at most 64 rows in it
--   count: Laplace, sensitivity 64 (l1), scale 64, pure epsilon 1 (add or remove one unit)
--   pairs: ± 192 at 0.95 confidence
--   price: epsilon 1

-- answered: 11 a CTE that filters
WITH old AS (SELECT * FROM patients WHERE age >= 65) SELECT sex, COUNT(*) AS n FROM old GROUP BY sex;
--   group by sex (2)
--     where: at most 1 row per unit
--       keep at most 1 row per unit
--         scan patients
--   groups: 2, all of them public; one unit touches at most 1, with at most 1 row in each
--   count: Laplace, sensitivity 1 (l1), scale 1, pure epsilon 1 (add or remove one unit)
--   n: ± 3 at 0.95 confidence
--   price: epsilon 1

-- answered: 12 a CTE per person, and a filtered count of it
WITH per AS (SELECT patient_id, COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY patient_id) SELECT AVG(total) AS mean, COUNT(*) FILTER (WHERE n > 3) AS frequent FROM per;
--   all rows together
--     one row per unit: at most 1 row per unit
--       keep at most 8 rows per unit
--         scan visits
--   groups: one; one unit has at most 1 row in it
--   count: Laplace, sensitivity 1 (l1), scale 5, pure epsilon 0.2 (add or remove one unit)
--       20 % of epsilon, for mean
--   centred sum of total cost per unit: Laplace, sensitivity 20000 (l1), scale 66666.7, pure epsilon 0.3 (add or remove one unit)
--       30 % of epsilon, for mean
--   count of an expression: Laplace, sensitivity 1 (l1), scale 2, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for frequent
--   mean: needs the size of a group: --group-rows 1000 gives ± 354.425, at 0.95 confidence
--   frequent: ± 6 at 0.95 confidence
--   price: epsilon 1

-- answered: 13 a sub-query that renames and computes
SELECT band, COUNT(*) AS n FROM (SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END AS band FROM patients) AS t GROUP BY band;
--   group by band (3)
--     keep at most 1 row per unit
--       scan patients
--   groups: 3, all of them public; one unit touches at most 1, with at most 1 row in each
--   count: Laplace, sensitivity 1 (l1), scale 1, pure epsilon 1 (add or remove one unit)
--   n: ± 3 at 0.95 confidence
--   price: epsilon 1

-- answered: 36 schema-qualified names, comma join
SELECT COUNT(*) AS n FROM public.visits v, patients p WHERE v.patient_id = p.id AND p.sex = 'F';
--   all rows together
--     where: at most 8 rows per unit
--       inner join on the unit: at most 8 rows per unit
--         keep at most 8 rows per unit
--           scan visits
--         keep at most 1 row per unit
--           scan patients
--   groups: one; one unit has at most 8 rows in it
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   price: epsilon 1

-- answered: 37 per person and month first
SELECT month, AVG(total) AS spent FROM (SELECT patient_id, DATE_TRUNC('month', day) AS month, SUM(cost) AS total FROM visits GROUP BY patient_id, month) AS t GROUP BY month;
--   group by month (61)
--     one row per unit and an expression of day: at most 8 rows per unit
--       keep at most 8 rows per unit
--         scan visits
--   groups: 61, all of them public; one unit touches at most 8, with at most 1 row in each
--   count: Laplace, sensitivity 8 (l1), scale 10.9589, pure epsilon 0.73 (add or remove one unit)
--       73 % of epsilon, for spent
--   sum of total cost per unit: Laplace, sensitivity 40000 (l1), scale 148148, pure epsilon 0.27 (add or remove one unit)
--       27 % of epsilon, for spent
--   spent: needs the size of a group: --group-rows 1000 gives ± 1410.34, at 0.95 confidence
--   price: epsilon 1

-- refused: 41 membership by another person's rows
SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM visits WHERE patient_id = 7);
--   not_allowed: line 1, column 74: patient_id identifies a privacy unit; use it to join private tables or in GROUP BY of a sub-query; to count rows, use COUNT(*)

-- refused: 42 a scalar of private rows
SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits);
--   not_allowed: line 1, column 50: a sub-query as a value can stand beside released numbers only: here it would be one number of everybody's rows; use it in SELECT, HAVING or ORDER BY outside aggregates, or write its released number here

-- refused: 43 a join that is not on the unit
SELECT COUNT(*) FROM visits a JOIN visits b ON a.day = b.day;
--   not_allowed: line 1, column 36: b is private: it can be joined with other private rows of the same unit only; join on the unit: ON a.patient_id = b.patient_id

-- refused: 44 rows ranked among all people
SELECT AVG(cost) FROM (SELECT cost, ROW_NUMBER() OVER (ORDER BY cost) AS r FROM visits) AS t WHERE r <= 100;
--   not_allowed: line 1, column 37: a window over private rows would compare the rows of all people; use windows on released numbers, such as RANK() OVER (ORDER BY COUNT(*) DESC), or group by the unit first

-- refused: 45 a limit on private rows
SELECT AVG(cost) FROM (SELECT cost FROM visits ORDER BY cost DESC LIMIT 10) AS t;
--   not_allowed: line 1, column 41: LIMIT in a sub-query would choose among the rows of all people; leave it out, or use MIN, MAX or a quantile

-- refused: 46 grouping by the person
SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id;
--   not_allowed: line 1, column 50: GROUP BY patient_id would return one row per person; group by it in a sub-query, and aggregate over its rows

-- refused: 48 rows that multiply without limit
SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id JOIN visits c ON b.patient_id = c.patient_id JOIN visits d ON c.patient_id = d.patient_id;
--   too_much_work: one unit of visits can have 4,096 rows after the join with visits: the limit is 1,000; join fewer tables or on a column with fewer matches, or have max_joined_rows raised in the catalog

-- answered: 49 three joined on the unit (8^3 = 512 rows of one unit)
SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.patient_id = b.patient_id JOIN visits c ON b.patient_id = c.patient_id;
--   all rows together
--     inner join on the unit: at most 512 rows per unit
--       inner join on the unit: at most 64 rows per unit
--         keep at most 8 rows per unit
--           scan visits
--         keep at most 8 rows per unit
--           scan visits
--       keep at most 8 rows per unit
--         scan visits
--   groups: one; one unit has at most 512 rows in it
--   count: Laplace, sensitivity 512 (l1), scale 512, pure epsilon 1 (add or remove one unit)
--   n: ± 1534 at 0.95 confidence
--   price: epsilon 1

-- answered: 50 NOT IN is NOT EXISTS over keys that are not NULL
SELECT COUNT(*) AS n FROM patients WHERE id NOT IN (SELECT patient_id FROM visits WHERE urgent);
--   all rows together
--     rows without a match of the same unit: at most 1 row per unit
--       keep at most 1 row per unit
--         scan patients
--       where: at most 8 rows per unit
--         keep at most 8 rows per unit
--           scan visits
--   groups: one; one unit has at most 1 row in it
--   count: Laplace, sensitivity 1 (l1), scale 1, pure epsilon 1 (add or remove one unit)
--   n: ± 3 at 0.95 confidence
--   price: epsilon 1

-- refused: 51 a sub-query that is not tied to the person
SELECT COUNT(*) FROM patients WHERE EXISTS (SELECT 1 FROM visits WHERE visits.patient_id = 7);
--   not_allowed: line 1, column 72: visits.patient_id identifies a privacy unit; use it to join private tables or in GROUP BY of a sub-query; to count rows, use COUNT(*)

-- refused: 52 a public table filtered by private rows
SELECT ward FROM wards WHERE ward IN (SELECT ward FROM visits WHERE patient_id = 7);
--   not_allowed: line 1, column 30: a public table cannot be filtered by other rows; ask the private table

-- refused: 53 a public table on the preserved side
SELECT w.ward, COUNT(v.cost) AS n FROM wards w LEFT JOIN visits v ON v.ward = w.ward GROUP BY w.ward;
--   not_allowed: line 1, column 40: w is public: a LEFT JOIN keeps its rows, whatever the private rows are; begin FROM with the private table, and LEFT JOIN the public one

-- refused: 54 distinct values of private rows
SELECT DISTINCT ward FROM visits WHERE patient_id = 7;
--   not_allowed: SELECT DISTINCT would return rows of private data; use GROUP BY with COUNT(*) to see how many have each value

-- answered: 61 the parent's key in USING
SELECT sex, SUM(cost) AS cost FROM visits JOIN (SELECT id AS patient_id, sex FROM patients) AS p USING (patient_id) GROUP BY sex;
--   group by sex (2)
--     inner join on the unit: at most 8 rows per unit
--       keep at most 8 rows per unit
--         scan visits
--       keep at most 1 row per unit
--         scan patients
--   groups: 2, all of them public; one unit touches at most 2, with at most 8 rows in each
--   sum of cost: Laplace, sensitivity 40000 (l1), scale 40000, pure epsilon 1 (add or remove one unit)
--   cost: ± 119829 at 0.95 confidence
--   price: epsilon 1

-- answered: 62 everybody counts, by whether there is a row
SELECT v.ward, COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND v.kind = 'emergency' GROUP BY v.ward;
--   group by ward (5)
--     left join on the unit: at most 8 rows per unit
--       keep at most 1 row per unit
--         scan patients
--       where: at most 8 rows per unit
--         keep at most 8 rows per unit
--           scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   price: epsilon 1

-- answered: 63 rows of two tables together
SELECT COUNT(*) AS n FROM (SELECT patient_id FROM visits WHERE urgent UNION ALL SELECT id FROM patients) AS t;
--   all rows together
--     union all: at most 9 rows per unit
--       where: at most 8 rows per unit
--         keep at most 8 rows per unit
--           scan visits
--       keep at most 1 row per unit
--         scan patients
--   groups: one; one unit has at most 9 rows in it
--   count: Laplace, sensitivity 9 (l1), scale 9, pure epsilon 1 (add or remove one unit)
--   n: ± 27 at 0.95 confidence
--   price: epsilon 1

-- answered: 64 a condition on a person's own rows
SELECT COUNT(*) AS people FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) >= 3 AND MAX(cost) > 1000) AS t;
--   all rows together
--     where: at most 1 row per unit
--       one row per unit: at most 1 row per unit
--         keep at most 8 rows per unit
--           scan visits
--   groups: one; one unit has at most 1 row in it
--   count: Laplace, sensitivity 1 (l1), scale 1, pure epsilon 1 (add or remove one unit)
--   people: ± 3 at 0.95 confidence
--   price: epsilon 1

-- answered: 65 per person, with columns of the person
SELECT p.sex, AVG(t.n) AS visits FROM patients p JOIN (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS t ON t.patient_id = p.id GROUP BY p.sex;
--   group by sex (2)
--     inner join on the unit: at most 1 row per unit
--       keep at most 1 row per unit
--         scan patients
--       one row per unit: at most 1 row per unit
--         keep at most 8 rows per unit
--           scan visits
--   groups: 2, all of them public; one unit touches at most 1, with at most 1 row in each
--   count: Laplace, sensitivity 1 (l1), scale 2.43902, pure epsilon 0.41 (add or remove one unit)
--       41 % of epsilon, for visits
--   centred sum of rows per unit: Laplace, sensitivity 3.5 (l1), scale 5.9322, pure epsilon 0.59 (add or remove one unit)
--       59 % of epsilon, for visits
--   visits: needs the size of a group: --group-rows 1000 gives ± 0.0306185, at 0.95 confidence
--   price: epsilon 1

-- answered: 66 per person and ward: a person in several groups
SELECT ward, MEDIAN(n) AS half FROM (SELECT patient_id, ward, COUNT(*) AS n FROM visits GROUP BY patient_id, ward) AS t GROUP BY ward;
--   group by ward (5)
--     one row per unit and ward: at most 5 rows per unit
--       keep at most 8 rows per unit
--         scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 1 row in each
--   quantile 0.5: exponential mechanism, one draw of both ends, and one of the value for few rows, sensitivity 2.5 ranks, scale 35 ranks to each end, pure epsilon 1 (add or remove one unit)
--       few rows: below about 140, which a draw of its own tells; the interval comes from the draws
--   half: not known in advance; it is reported with the answer
--   price: epsilon 1

-- answered: 67 a condition on a public table
SELECT COUNT(*) AS n FROM visits WHERE ward IN (SELECT ward FROM wards WHERE floor >= 2);
--   all rows together
--     rows with a match in a public table: at most 8 rows per unit
--       keep at most 8 rows per unit
--         scan visits
--       where
--         scan wards
--   groups: one; one unit has at most 8 rows in it
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   price: epsilon 1

-- refused: 68 a FULL JOIN
SELECT COUNT(*) FROM patients p FULL JOIN visits v ON v.patient_id = p.id;
--   not_allowed: line 1, column 43: FULL JOIN is not supported; use INNER JOIN or LEFT JOIN

-- refused: 69 a sub-query under OR
SELECT COUNT(*) FROM patients WHERE age < 18 OR id IN (SELECT patient_id FROM visits);
--   not_allowed: line 1, column 49: a sub-query is answered only as a condition of its own in WHERE, joined with AND; write WHERE ... AND EXISTS (...), or WHERE ... AND id IN (SELECT ...)

-- refused: 70 released numbers beside private rows
SELECT COUNT(*) FROM visits v JOIN (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t ON v.ward = t.ward;
--   not_allowed: line 1, column 22: released numbers cannot be joined with the private rows of 'v': noise would meet rows of people one by one; put the aggregate of those rows into a sub-query of its own, or join public tables only

-- refused: 71 a condition on the left side in the ON of a LEFT JOIN
SELECT COUNT(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND p.age > 65;
--   not_allowed: line 1, column 79: the ON of a LEFT JOIN compares columns with =, or filters the right side: this names the left side; put the condition into WHERE, or into a CASE in SELECT

-- answered: 72 an alternative, by a per-person column that may be missing
SELECT COUNT(*) AS people FROM patients p LEFT JOIN (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS t ON t.patient_id = p.id WHERE p.age < 18 OR t.n >= 1;
--   all rows together
--     where: at most 1 row per unit
--       left join on the unit: at most 1 row per unit
--         keep at most 1 row per unit
--           scan patients
--         one row per unit: at most 1 row per unit
--           keep at most 8 rows per unit
--             scan visits
--   groups: one; one unit has at most 1 row in it
--   count: Laplace, sensitivity 1 (l1), scale 1, pure epsilon 1 (add or remove one unit)
--   people: ± 3 at 0.95 confidence
--   price: epsilon 1
