-- Questions of the hospital in docs/guides/catalog.md in the words of other systems, each at epsilon 1 (and delta 1e-8 where a
-- question needs one), on 2025-01-01. The first line of each says what must come; below it stands what `explain` draws, or the refusal.

-- answered: 24 words of other dialects
SELECT COUNTIF(urgent) AS urgent, SAFE_DIVIDE(SUM(cost), COUNT(*)) AS mean FROM visits;
--   all rows together
--     keep at most 8 rows per unit
--       scan visits
--   groups: one; one unit has at most 8 rows in it
--   count of an expression: Laplace, sensitivity 8 (l1), scale 24, pure epsilon 0.333333 (add or remove one unit)
--       33.3333 % of epsilon, for urgent
--   sum of cost: Laplace, sensitivity 40000 (l1), scale 120000, pure epsilon 0.333333 (add or remove one unit)
--       33.3333 % of epsilon, for mean
--   count: Laplace, sensitivity 8 (l1), scale 24, pure epsilon 0.333333 (add or remove one unit)
--       33.3333 % of epsilon, for mean
--   urgent: ± 72 at 0.95 confidence
--   mean: not known in advance; it is reported with the answer
--   price: epsilon 1

-- answered: 25 a part of a date, and GROUP BY ALL
SELECT DATE_PART('year', day) AS year, COUNT(*) AS n FROM visits GROUP BY ALL;
--   group by year (6)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 6, all of them public; one unit touches at most 6, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   price: epsilon 1

-- answered: 26 a bare unit comes last
SELECT DATE_TRUNC(day, MONTH) AS month, COUNT(*) AS n FROM visits WHERE STARTS_WITH(ward, 'n') GROUP BY month;
--   group by month (61)
--     where: at most 8 rows per unit
--       keep at most 8 rows per unit
--         scan visits
--   groups: 61, all of them public; one unit touches at most 8, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   price: epsilon 1

-- answered: 27 a date as text, and a regular expression on declared values
SELECT TO_CHAR(day, 'YYYY-MM') AS month, COUNT(*) AS n FROM visits WHERE ward ~ '^(north|south)$' GROUP BY 1;
--   group by month (61)
--     where: at most 8 rows per unit
--       keep at most 8 rows per unit
--         scan visits
--   groups: 61, all of them public; one unit touches at most 8, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   price: epsilon 1

-- answered: 28 a key of two columns
SELECT ward || '-' || kind AS place, COUNT(*) AS n FROM visits GROUP BY place;
--   group by place (13)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 13, all of them public; one unit touches at most 8, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   price: epsilon 1

-- answered: 34 the largest groups only, among those that pass the threshold
SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis ORDER BY n DESC LIMIT 3;
--   group by diagnosis (private)
--     keep at most 8 rows per unit
--       scan visits
--   groups: private, shown where the noisy number of units reaches 319; one unit touches at most 8, with at most 8 rows in each
--   keys: threshold on noisy numbers of units, sensitivity 8, scale 16, epsilon 0.5, delta 1e-08 (add or remove one unit)
--       50 % of epsilon
--   count: Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for n
--   n: not known in advance; it is reported with the answer
--   price: epsilon 1, delta 1e-08

-- answered: 35 today is a literal of the plan
SELECT COUNT(*) AS n FROM visits WHERE day > CURRENT_DATE - INTERVAL '1000 days';
--   all rows together
--     where: at most 8 rows per unit
--       keep at most 8 rows per unit
--         scan visits
--   groups: one; one unit has at most 8 rows in it
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
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

-- free: 38 declared values
SELECT DISTINCT ward FROM visits;
--   public tables or the catalog alone
--   groups: exact, without noise
--   price: epsilon 0

-- free: 39 a public table
SELECT * FROM wards;
--   public tables or the catalog alone
--   groups: exact, without noise
--   price: epsilon 0

-- free: 40 the catalog
DESCRIBE visits;
--   public tables or the catalog alone
--   groups: exact, without noise
--   price: epsilon 0

-- refused: 47 a value that cannot occur
SELECT COUNT(*) FROM visits WHERE ward = 'nort';
--   never_true: line 1, column 35: 'nort' is not a declared value; did you mean 'north'?

-- refused: 52 a public table filtered by private rows
SELECT ward FROM wards WHERE ward IN (SELECT ward FROM visits WHERE patient_id = 7);
--   not_allowed: line 1, column 30: a public table cannot be filtered by other rows; ask the private table

-- answered: 101 the same decades, whichever way they are written
SELECT age - age % 10 AS decade, COUNT(*) AS n FROM patients GROUP BY decade;
--   group by decade (13)
--     keep at most 1 row per unit
--       scan patients
--   groups: 13, all of them public; one unit touches at most 1, with at most 1 row in each
--   count: Laplace, sensitivity 1 (l1), scale 1, pure epsilon 1 (add or remove one unit)
--   n: ± 3 at 0.95 confidence
--   price: epsilon 1

-- answered: 102 days since a date, from the first to the last
SELECT AVG(DATE_DIFF('day', DATE '2020-01-01', day)) AS days FROM visits;
--   all rows together
--     keep at most 8 rows per unit
--       scan visits
--   groups: one; one unit has at most 8 rows in it
--   count of an expression: Laplace, sensitivity 8 (l1), scale 19.5122, pure epsilon 0.41 (add or remove one unit)
--       41 % of epsilon, for days
--   centred sum of an expression: Laplace, sensitivity 7304 (l1), scale 12379.7, pure epsilon 0.59 (add or remove one unit)
--       59 % of epsilon, for days
--   days: needs the size of a group: --group-rows 1000 gives ± 66.5797, at 0.95 confidence
--   price: epsilon 1

-- refused: 103 two readings, both written out
SELECT AVG(DATE_DIFF(day, DATE '2020-01-01', MONTH)) AS x FROM visits;
--   not_allowed: line 1, column 12: DATE_DIFF fits two readings here: dialects differ on the order of its arguments; write DATE_DIFF('day', DATE '2020-01-01', MONTH) or DATE_DIFF('month', DATE '2020-01-01', day)

-- answered: 104 CONCAT leaves NULL out
SELECT CONCAT(ward, '-', kind) AS place, COUNT(*) AS n FROM visits GROUP BY place;
--   group by place (15)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 15, all of them public; one unit touches at most 8, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   price: epsilon 1

-- refused: 105 a letter of a date format by name
SELECT TO_CHAR(day, 'HH24') AS hour, COUNT(*) AS n FROM visits GROUP BY hour;
--   not_allowed: line 1, column 8: 'HH24' in a date format is not supported; supported are: YYYY, yyyy, YY, yy, MM, mm, DDD, ddd, DD, dd, Q, q, IYYY, iyyy, IW, iw, Mon, Dy, FMMonth, FMDay

-- refused: 106 a regular expression on private text
SELECT COUNT(*) FROM visits WHERE diagnosis ~ 'flu';
--   not_allowed: line 1, column 35: a regular expression on private text is not supported; use LIKE, or declare the column's values

-- free: 107 the catalog's tables
SHOW TABLES;
--   public tables or the catalog alone
--   groups: exact, without noise
--   price: epsilon 0
