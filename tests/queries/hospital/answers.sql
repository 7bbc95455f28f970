-- SELECT from an answer: the question in parentheses is released and paid for; what is made of it costs nothing more.
-- The first line of each says what must come; below it stands what `explain` draws, or the refusal.

-- answered: 201 a virtual dataset as a BI tool wraps it
SELECT * FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS virtual_table LIMIT 1000;
--   made of 1 answer, which is released and paid for
--     question 1
--       group by ward (5)
--         keep at most 8 rows per unit
--           scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   price: epsilon 1
--   rung: 0 ms, after which a server that hides its clock replies

-- answered: 202 a window, a filter and an order over released numbers
SELECT ward, n / SUM(n) OVER () AS share FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t WHERE n > 100 ORDER BY n;
--   made of 1 answer, which is released and paid for
--     question 1
--       group by ward (5)
--         keep at most 8 rows per unit
--           scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   share: not known in advance; it is reported with the answer
--   price: epsilon 1
--   rung: 0 ms, after which a server that hides its clock replies

-- answered: 203 WITH, groups of groups
WITH q AS (SELECT ward, kind, COUNT(*) AS n FROM visits GROUP BY ward, kind) SELECT ward, SUM(n) AS n, MAX(n) AS most FROM q GROUP BY ward;
--   made of 1 answer, which is released and paid for
--     question 1
--       group by ward (5), kind (3)
--         keep at most 8 rows per unit
--           scan visits
--   groups: 15, all of them public; one unit touches at most 8, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: not known in advance; it is reported with the answer
--   most: not known in advance; it is reported with the answer
--   price: epsilon 1
--   rung: 0 ms, after which a server that hides its clock replies

-- answered: 204 scalars without FROM, which share epsilon
SELECT (SELECT COUNT(*) FROM visits) / (SELECT COUNT(*) FROM patients) AS per_person;
--   made of 2 answers, each released with 1/2 of the budget; all of them are admitted, or none
--     question 1
--       all rows together
--         keep at most 8 rows per unit
--           scan visits
--       groups: one; one unit has at most 8 rows in it
--     question 2
--       all rows together
--         keep at most 1 row per unit
--           scan patients
--       groups: one; one unit has at most 1 row in it
--   groups: those of 2 questions; one unit can be in all of them
--   count (question 1): Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--   count (question 2): Laplace, sensitivity 1 (l1), scale 2, pure epsilon 0.5 (add or remove one unit)
--   per_person: not known in advance; it is reported with the answer
--   price: epsilon 1
--   rung: 0 ms, after which a server that hides its clock replies

-- answered: 205 joined with a public table
SELECT w.floor, SUM(t.n) AS n, SUM(t.n) / SUM(w.beds) AS per_bed FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t JOIN wards AS w ON t.ward = w.ward GROUP BY w.floor;
--   made of 1 answer, which is released and paid for
--     question 1
--       group by ward (5)
--         keep at most 8 rows per unit
--           scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: not known in advance; it is reported with the answer
--   per_bed: not known in advance; it is reported with the answer
--   price: epsilon 1
--   rung: 0 ms, after which a server that hides its clock replies

-- answered: 206 two answers joined
SELECT a.ward, a.n / b.n AS urgent FROM (SELECT ward, COUNT(*) AS n FROM visits WHERE urgent GROUP BY ward) AS a JOIN (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS b ON a.ward = b.ward;
--   made of 2 answers, each released with 1/2 of the budget; all of them are admitted, or none
--     question 1
--       group by ward (5)
--         where: at most 8 rows per unit
--           keep at most 8 rows per unit
--             scan visits
--       groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--     question 2
--       group by ward (5)
--         keep at most 8 rows per unit
--           scan visits
--       groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   groups: those of 2 questions; one unit can be in all of them
--   count (question 1): Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--   count (question 2): Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--   urgent: not known in advance; it is reported with the answer
--   price: epsilon 1
--   rung: 0 ms, after which a server that hides its clock replies

-- answered: 207 the same question twice is one release
SELECT t.ward, t.n, t.n / u.most AS relative FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t, (SELECT MAX(n) AS most FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS q) AS u;
--   made of 1 answer, which is released and paid for
--     question 1
--       group by ward (5)
--         keep at most 8 rows per unit
--           scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   relative: not known in advance; it is reported with the answer
--   price: epsilon 1
--   rung: 0 ms, after which a server that hides its clock replies

-- answered: 208 dates of an answer by quarter
SELECT DATE_TRUNC('quarter', month) AS quarter, SUM(n) AS n FROM (SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month) AS t GROUP BY DATE_TRUNC('quarter', month);
--   made of 1 answer, which is released and paid for
--     question 1
--       group by month (61)
--         keep at most 8 rows per unit
--           scan visits
--   groups: 61, all of them public; one unit touches at most 8, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: not known in advance; it is reported with the answer
--   price: epsilon 1
--   rung: 0 ms, after which a server that hides its clock replies

-- answered: 209 groups that noisy numbers form
SELECT FLOOR(n / 100) AS hundreds, COUNT(*) AS wards FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t GROUP BY hundreds;
--   made of 1 answer, which is released and paid for
--     question 1
--       group by ward (5)
--         keep at most 8 rows per unit
--           scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   hundreds: not known: released numbers decide what it is made of
--   wards: not known: released numbers decide what it is made of
--   price: epsilon 1
--   rung: 0 ms, after which a server that hides its clock replies

-- answered: 210 private keys, which need a delta
SELECT diagnosis, n / SUM(n) OVER () AS share FROM (SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis) AS t ORDER BY n DESC LIMIT 3;
--   made of 1 answer, which is released and paid for
--     question 1
--       group by diagnosis (private)
--         keep at most 8 rows per unit
--           scan visits
--   groups: private, shown where the noisy number of units reaches 176; one unit touches at most 8, with at most 8 rows in each
--   keys: threshold on numbers of units with Gaussian noise, sensitivity 2.82843 (l2), scale 28.6214819122, concentrated rho 0.00488288, delta 5e-09 (add or remove one unit)
--       50 % of epsilon
--   count: Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for n
--   share: not known in advance; it is reported with the answer
--   price: epsilon 1, delta 1e-08
--   rung: 0 ms, after which a server that hides its clock replies

-- answered: 211 an answer about people, from a sub-query by person
SELECT n, people, SUM(people) OVER (ORDER BY n) AS so_far FROM (SELECT n, COUNT(*) AS people FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS p GROUP BY n) AS t;
--   made of 1 answer, which is released and paid for
--     question 1
--       group by n (8)
--         one row per unit: at most 1 row per unit
--           keep at most 8 rows per unit
--             scan visits
--   groups: 8, all of them public; one unit touches at most 1, with at most 1 row in each
--   count: Laplace, sensitivity 1 (l1), scale 1, pure epsilon 1 (add or remove one unit)
--   people: ± 3 at 0.95 confidence
--   so_far: not known in advance; it is reported with the answer
--   price: epsilon 1
--   rung: 0 ms, after which a server that hides its clock replies

-- answered: 212 a filter by a public table
SELECT ward, n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t WHERE ward IN (SELECT ward FROM wards WHERE floor = 2);
--   made of 1 answer, which is released and paid for
--     question 1
--       group by ward (5)
--         keep at most 8 rows per unit
--           scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   price: epsilon 1
--   rung: 0 ms, after which a server that hides its clock replies

-- answered: 213 UNION ALL inside
SELECT what, n FROM (SELECT 'patients' AS what, COUNT(*) AS n FROM patients UNION ALL SELECT 'visits', COUNT(*) FROM visits) AS t ORDER BY n DESC;
--   made of 1 answer, which is released and paid for
--     question 1
--       part 1
--         all rows together
--           keep at most 1 row per unit
--             scan patients
--         groups: one; one unit has at most 1 row in it
--       part 2
--         all rows together
--           keep at most 8 rows per unit
--             scan visits
--         groups: one; one unit has at most 8 rows in it
--   groups: those of 2 parts; one unit can be in all parts
--   count (part 1): Laplace, sensitivity 1 (l1), scale 2, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for n
--   count (part 2): Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for count
--   n: not known in advance; it is reported with the answer
--   price: epsilon 1
--   rung: 0 ms, after which a server that hides its clock replies

-- answered: 214 a chosen value is shown
SELECT ward, usual FROM (SELECT ward, MODE(kind) AS usual FROM visits GROUP BY ward) AS t;
--   made of 1 answer, which is released and paid for
--     question 1
--       group by ward (5)
--         keep at most 8 rows per unit
--           scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   mode of kind: exponential mechanism over 3 declared values, sensitivity 8 rows, scale 8, pure epsilon 1 (add or remove one unit)
--   usual: text made from noisy numbers, or a chosen value; it has no interval
--   price: epsilon 1
--   rung: 0 ms, after which a server that hides its clock replies

-- refused: 215 a SELECT by person is no release
SELECT * FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS t;
--   not_allowed: line 1, column 8: rows of private data are not returned; ask for an aggregate, such as COUNT(*)

-- refused: 216 a SELECT by person, and its rows in order
SELECT n FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS t ORDER BY n DESC LIMIT 1;
--   not_allowed: line 1, column 8: every expression must be an aggregate, a column of GROUP BY, a constant, or made of them; add it to GROUP BY, or aggregate it

-- refused: 217 released numbers joined with private rows
SELECT COUNT(*) AS n FROM visits AS v JOIN (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t ON v.ward = t.ward;
--   not_allowed: line 1, column 27: released numbers cannot be joined with the private rows of 'v': noise would meet rows of people one by one; put the aggregate of those rows into a sub-query of its own, or join public tables only

-- refused: 218 released numbers in a condition on private rows
SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT MAX(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t);
--   not_allowed: line 1, column 55: a sub-query as a value can stand beside released numbers only: here it would be one number of everybody's rows; use it in SELECT, HAVING or ORDER BY outside aggregates, or write its released number here

-- refused: 219 private rows looked up from an answer
SELECT ward FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t WHERE ward IN (SELECT ward FROM visits);
--   not_allowed: line 1, column 84: released numbers cannot be joined with the private rows of 'the sub-query': noise would meet rows of people one by one; put the aggregate of those rows into a sub-query of its own, or join public tables only

-- refused: 220 nothing is made of a chosen value
SELECT UPPER(usual) AS usual FROM (SELECT MODE(kind) AS usual FROM visits) AS t;
--   not_allowed: line 1, column 8: UPPER is supported here on columns with declared values only; use it inside the question

-- refused: 221 an aggregate that released numbers do not have
SELECT MEDIAN(n) AS half FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t;
--   not_allowed: line 1, column 8: MEDIAN of released numbers is not supported; use COUNT, SUM, AVG, MIN or MAX, or ask the question itself for it

-- refused: 222 a value that cannot occur
SELECT n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t WHERE ward = 'nort';
--   never_true: line 1, column 81: 'nort' is not a declared value; did you mean 'north'?

-- refused: 223 a query as a value has one row
SELECT n / (SELECT floor FROM wards) AS x FROM (SELECT COUNT(*) AS n FROM visits) AS t;
--   not_allowed: line 1, column 20: a sub-query as a value has one column and one row; select one aggregate, or add LIMIT 1

-- refused: 224 margins belong to the question
SELECT ward, SUM(n) AS n FROM (SELECT ward, kind, COUNT(*) AS n FROM visits GROUP BY ward, kind) AS t GROUP BY ROLLUP (ward);
--   not_allowed: ROLLUP, CUBE and GROUPING SETS over an answer are not supported; use them in the question

