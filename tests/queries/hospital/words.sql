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
--   groups: private, shown where the noisy number of units reaches 176; one unit touches at most 8, with at most 8 rows in each
--   keys: threshold on numbers of units with Gaussian noise, sensitivity 2.82843 (l2), scale 28.6214819122, concentrated rho 0.00488288, delta 5e-09 (add or remove one unit)
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

-- answered: 108 what a patient adds to a ward, clamped
SELECT ward, SUM(cost, contribution_bounds_per_group => (0, 1000)) AS cost, COUNT(*, contribution_bounds_per_group => (0, 1)) AS n FROM visits GROUP BY ward;
--   group by ward (5)
--     one row per unit and ward: at most 5 rows per unit
--       keep at most 8 rows per unit
--         scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 1 row in each
--   sum of clamped total cost per unit: Laplace, sensitivity 5000 (l1), scale 10000, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for cost
--   sum of clamped rows per unit: Laplace, sensitivity 5 (l1), scale 10, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for n
--   cost: ± 29957.3 at 0.95 confidence
--   n: ± 30 at 0.95 confidence
--   price: epsilon 1

-- answered: 109 the older words for it
SELECT WITH ANONYMIZATION OPTIONS (epsilon = 1) ward, ANON_SUM(cost CLAMPED BETWEEN 0 AND 1000) AS cost, ANON_COUNT(* CLAMPED BETWEEN 0 AND 1) AS n FROM visits GROUP BY ward;
--   group by ward (5)
--     one row per unit and ward: at most 5 rows per unit
--       keep at most 8 rows per unit
--         scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 1 row in each
--   sum of clamped total cost per unit: Laplace, sensitivity 5000 (l1), scale 10000, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for cost
--   sum of clamped rows per unit: Laplace, sensitivity 5 (l1), scale 10, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for n
--   cost: ± 29957.3 at 0.95 confidence
--   n: ± 30 at 0.95 confidence
--   price: epsilon 1

-- answered: 110 two groups of each patient
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_groups_contributed = 2, privacy_unit_column = patient_id) ward, kind, COUNT(*, contribution_bounds_per_group => (0, 1)) AS n FROM visits GROUP BY ward, kind;
--   group by ward (5), kind (3)
--     one row per unit and ward and kind, for at most 2 of them: at most 2 rows per unit
--       keep at most 8 rows per unit
--         scan visits
--   groups: 15, all of them public; one unit touches at most 2, with at most 1 row in each
--   sum of clamped rows per unit: Laplace, sensitivity 2 (l1), scale 2, pure epsilon 1 (add or remove one unit)
--   n: ± 6 at 0.95 confidence
--   price: epsilon 1

-- answered: 111 two rows of each patient
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_rows_contributed = 2) ward, COUNT(*) AS n FROM visits GROUP BY ward;
--   group by ward (5)
--     keep at most 2 rows per unit
--       scan visits
--   groups: 5, all of them public; one unit touches at most 2, with at most 2 rows in each
--   count: Laplace, sensitivity 2 (l1), scale 2, pure epsilon 1 (add or remove one unit)
--   n: ± 6 at 0.95 confidence
--   price: epsilon 1

-- answered: 112 the mean of the means of patients, beside a bound for each row
SELECT AVG(cost, contribution_bounds_per_group => (0, 1000)) AS mean FROM visits;
--   all rows together
--     one row per unit: at most 1 row per unit
--       keep at most 8 rows per unit
--         scan visits
--   groups: one; one unit has at most 1 row in it
--   count: Laplace, sensitivity 1 (l1), scale 2.43902, pure epsilon 0.41 (add or remove one unit)
--       41 % of epsilon, for mean
--   centred sum of clamped mean cost per unit: Laplace, sensitivity 500 (l1), scale 847.458, pure epsilon 0.59 (add or remove one unit)
--       59 % of epsilon, for mean
--   mean: needs the size of a group: --group-rows 1000 gives ± 4.33736, at 0.95 confidence
--   price: epsilon 1

-- answered: 113 a quantile and a variance of rows that are clamped
SELECT PERCENTILE_CONT(cost, 0.5, contribution_bounds_per_row => (0, 1000)) AS half, VAR_POP(cost, contribution_bounds_per_row => (0, 1000)) AS spread FROM visits;
--   all rows together
--     keep at most 8 rows per unit
--       scan visits
--   groups: one; one unit has at most 8 rows in it
--   count: Laplace, sensitivity 8 (l1), scale 47.0588, pure epsilon 0.17 (add or remove one unit)
--       17 % of epsilon, for spread
--   centred sum of clamped cost: Laplace, sensitivity 4000 (l1), scale 23529.4, pure epsilon 0.17 (add or remove one unit)
--       17 % of epsilon, for spread
--   centred sum of squares of clamped cost: Laplace, sensitivity 1000000 (l1), scale 6250000, pure epsilon 0.16 (add or remove one unit)
--       16 % of epsilon, for spread
--   quantile 0.5: exponential mechanism, one draw of both ends, and one of the value for few rows, sensitivity 4 ranks, scale 307 ranks to each end, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for half
--       few rows: below about 1,228, which a draw of its own tells; the interval comes from the draws
--   half: not known in advance; it is reported with the answer
--   spread: needs the size of a group: --group-rows 1000 gives ± 250000, at 0.95 confidence
--   price: epsilon 1

-- answered: 114 both ends of an interval as columns
SELECT ward, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_HIGH(n) AS high FROM visits GROUP BY ward;
--   group by ward (5)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   low: the low end of the interval of n
--   high: the high end of the interval of n
--   price: epsilon 1

-- answered: 115 more people for a private group
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (min_privacy_units_per_group = 500, group_selection_strategy = LAPLACE_THRESHOLD) diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis;
--   group by diagnosis (private)
--     keep at most 8 rows per unit
--       scan visits
--   groups: private, shown where the noisy number of units reaches 500; one unit touches at most 8, with at most 8 rows in each
--   keys: threshold on noisy numbers of units, sensitivity 8, scale 16, epsilon 0.5, delta 1e-08 (add or remove one unit)
--       50 % of epsilon
--   count: Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for n
--   n: ± 48 at 0.95 confidence
--   price: epsilon 1, delta 1e-08

-- refused: 116 bounds beyond the catalog
SELECT SUM(cost, contribution_bounds_per_group => (0, 100000)) AS cost FROM visits;
--   not_allowed: line 1, column 8: the bounds are wider than what the catalog allows, 0 to 40000; narrow them; wider ones have to be declared

-- refused: 117 another unit
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, privacy_unit_column = ward) COUNT(*) AS n FROM visits;
--   not_allowed: line 1, column 78: privacy_unit_column = ward is not the privacy unit, which the catalog declares; write patient_id, or leave it out

-- refused: 118 more rows than the catalog keeps
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_rows_contributed = 100) COUNT(*) AS n FROM visits;
--   not_allowed: line 1, column 103: max_rows_contributed = 100 is more than the catalog allows: 8 in visits; write at most 8, or leave it out
