-- Questions on released numbers of the hospital in docs/guides/catalog.md, as analysts write them, each at epsilon 1.
-- The first line of each says what must come; below it stands what `explain` draws, or the refusal.

-- answered: 14 percent of total
SELECT ward, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS percent FROM visits GROUP BY ward;
--   group by ward (5)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   percent: not known in advance; it is reported with the answer
--   price: epsilon 1

-- answered: 16 running total, and change from the month before
SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', day)) AS so_far, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', day)) AS change FROM visits GROUP BY month ORDER BY month;
--   group by month (61)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 61, all of them public; one unit touches at most 8, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   so_far: up to ± 173 at 0.95 confidence
--   change: not known in advance; it is reported with the answer
--   price: epsilon 1

-- answered: 17 the largest two wards of each kind
SELECT ward, kind, COUNT(*) AS n FROM visits GROUP BY ward, kind QUALIFY RANK() OVER (PARTITION BY kind ORDER BY COUNT(*) DESC) <= 2;
--   group by ward (5), kind (3)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 15, all of them public; one unit touches at most 8, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 46 at 0.95 confidence, for all 15 rows together
--   price: epsilon 1

-- answered: 18 an alias in HAVING
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 100;
--   group by ward (5)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 37 at 0.95 confidence, for all 5 rows together
--   price: epsilon 1

-- answered: 19 arithmetic on results
SELECT ward, SUM(cost) / NULLIF(COUNT(*), 0) AS mean, SQRT(VAR_POP(cost)) AS spread, CASE WHEN COUNT(*) > 1000 THEN 'large' ELSE 'small' END AS size FROM visits GROUP BY ward;
--   group by ward (5)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 13.3333, pure epsilon 0.6 (add or remove one unit)
--       60 % of epsilon, for mean, spread, size
--   centred sum of cost: Laplace, sensitivity 20000 (l1), scale 80000, pure epsilon 0.25 (add or remove one unit)
--       25 % of epsilon, for mean, spread
--   centred sum of squares of cost: Laplace, sensitivity 25000000 (l1), scale 1.66667e+08, pure epsilon 0.15 (add or remove one unit)
--       15 % of epsilon, for spread
--   mean: not known in advance; it is reported with the answer
--   spread: not known in advance; it is reported with the answer
--   size: text made from noisy numbers; it has no interval
--   price: epsilon 1

-- answered: 20 a cast with digits
SELECT AVG(age)::numeric(10,2) AS age FROM patients;
--   all rows together
--     keep at most 1 row per unit
--       scan patients
--   groups: one; one unit has at most 1 row in it
--   count of age: Laplace, sensitivity 1 (l1), scale 2.43902, pure epsilon 0.41 (add or remove one unit)
--       41 % of epsilon, for age
--   centred sum of age: Laplace, sensitivity 55 (l1), scale 93.2203, pure epsilon 0.59 (add or remove one unit)
--       59 % of epsilon, for age
--   age: not known in advance; it is reported with the answer
--   price: epsilon 1

-- answered: 101 a total over rows, its share, and a constant
SELECT ward, SUM(COUNT(*)) OVER () AS total, SUM(SUM(cost)) OVER (PARTITION BY ward) AS cost, 'visits' AS what, 1 AS one FROM visits GROUP BY ward;
--   group by ward (5)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for total
--   sum of cost: Laplace, sensitivity 40000 (l1), scale 80000, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for cost
--   total: ± 101 at 0.95 confidence
--   cost: ± 239659 at 0.95 confidence
--   price: epsilon 1

-- answered: 102 the largest rows, by a window in ORDER BY
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY RANK() OVER (ORDER BY COUNT(*) DESC) LIMIT 2;
--   group by ward (5)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 37 at 0.95 confidence, for all 5 rows together
--   price: epsilon 1

-- answered: 103 groups of private text, the largest of those that are shown
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7) diagnosis, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM visits GROUP BY diagnosis ORDER BY n DESC LIMIT 3;
--   group by diagnosis (private)
--     keep at most 8 rows per unit
--       scan visits
--   groups: private, shown where the noisy number of units reaches 170; one unit touches at most 8, with at most 8 rows in each
--   keys: threshold on numbers of units with Gaussian noise, sensitivity 2.82843 (l2), scale 29.5974174937, concentrated rho 0.00456617, delta 5e-08 (add or remove one unit)
--       44 % of epsilon
--   count: Laplace, sensitivity 8 (l1), scale 14.2857, pure epsilon 0.56 (add or remove one unit)
--       56 % of epsilon, for n, place
--   n: not known in advance; it is reported with the answer
--   place: not known in advance; it is reported with the answer
--   price: epsilon 1, delta 1e-07

-- answered: 104 keys choose the rows, so that every interval is that of one number
SELECT ward, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY ward) AS place FROM visits GROUP BY ward QUALIFY place <= 2;
--   group by ward (5)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   n: ± 24 at 0.95 confidence
--   price: epsilon 1

-- refused: 105 a window in HAVING
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING RANK() OVER (ORDER BY COUNT(*)) = 1;
--   not_allowed: line 1, column 61: a window is not allowed here; use it in SELECT, QUALIFY or ORDER BY, and not inside another

-- refused: 106 a window inside another
SELECT ward, SUM(SUM(COUNT(*)) OVER ()) OVER () AS n FROM visits GROUP BY ward;
--   not_allowed: line 1, column 18: a window is not allowed here; use it in SELECT, QUALIFY or ORDER BY, and not inside another

-- refused: 107 a partition by released numbers
SELECT ward, RANK() OVER (PARTITION BY COUNT(*)) AS n FROM visits GROUP BY ward;
--   not_allowed: line 1, column 40: PARTITION BY takes columns of GROUP BY; add it to GROUP BY

-- refused: 108 rows of private data in a window
SELECT ward, SUM(cost) OVER (ORDER BY ward) AS n FROM visits GROUP BY ward;
--   not_allowed: line 1, column 14: SUM(cost) OVER would add up rows of private data: windows are over released numbers; write SUM(SUM(cost)) OVER (...), with GROUP BY

-- refused: 109 a choice among the rows of all people
SELECT AVG(cost) FROM (SELECT cost FROM visits QUALIFY ROW_NUMBER() OVER (ORDER BY cost) = 1) AS t;
--   not_allowed: line 1, column 31: QUALIFY in a sub-query would choose among rows of all people; leave it out, or group by the unit and use HAVING

-- refused: 110 values of several kinds
SELECT ward, CASE WHEN COUNT(*) > 5 THEN 'large' ELSE 0 END AS size FROM visits GROUP BY ward;
--   wrong_type: line 1, column 24: the values of CASE are of several kinds: number, text

-- refused: 111 a logarithm whose base differs between systems
SELECT LOG(COUNT(*)) AS x FROM visits;
--   not_allowed: line 1, column 8: LOG is not supported: its base differs between dialects; write LN(x) or LOG10(x)

-- refused: 112 a frame that is not of rows
SELECT ward, SUM(COUNT(*)) OVER (ORDER BY ward RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS n FROM visits GROUP BY ward;
--   not_allowed: line 1, column 62: this frame is not supported: only ROWS frames may have their own ends; write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW
