-- Aggregates of the hospital in docs/guides/catalog.md, as analysts write them, each at epsilon 1.
-- The first line of each says what must come; below it stands what `explain` draws, or the refusal.

-- answered: 29 counts of dates and of different values
SELECT ward, COUNT(day) AS days, COUNT(DISTINCT kind) AS kinds FROM visits GROUP BY ward;
--   group by ward (5)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count of day: Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for days
--   number of different values of kind: Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for kinds
--   days: ± 48 at 0.95 confidence
--   kinds: ± 48 at 0.95 confidence
--   price: epsilon 1

-- answered: 30 different private text, a number with its interval
SELECT COUNT(DISTINCT diagnosis) AS diagnoses FROM visits;
--   all rows together
--     keep at most 8 rows per unit
--       scan visits
--   groups: one; one unit has at most 8 rows in it
--   number of different values of diagnosis: Laplace, sensitivity 8 (l1), scale 8, pure epsilon 1 (add or remove one unit)
--   diagnoses: ± 24 at 0.95 confidence
--   price: epsilon 1

-- answered: 31 several quantiles that agree
SELECT APPROX_QUANTILES(cost, 4) AS quartiles FROM visits;
--   all rows together
--     keep at most 8 rows per unit
--       scan visits
--   groups: one; one unit has at most 8 rows in it
--   quantiles 0, 0.25, 0.5, 0.75, 1: Laplace noise on one tree of counts: 4 levels of 27 branches, sensitivity 8 rows at each level, scale 32; about 463.3 to 522.4 ranks to an end of the interval, pure epsilon 1 (add or remove one unit)
--       100 % of epsilon, for quartiles_0, quartiles_1, quartiles_2, quartiles_3, quartiles_4
--       chosen because one tree serves all quantiles of this expression: draws of their own would divide epsilon
--   quartiles_0: not known in advance; it is reported with the answer
--   quartiles_1: not known in advance; it is reported with the answer
--   quartiles_2: not known in advance; it is reported with the answer
--   quartiles_3: not known in advance; it is reported with the answer
--   quartiles_4: not known in advance; it is reported with the answer
--   price: epsilon 1

-- answered: 32 two columns together
SELECT CORR(cost, pulse) AS r, REGR_SLOPE(cost, pulse) AS slope, REGR_INTERCEPT(cost, pulse) AS start FROM visits;
--   all rows together
--     keep at most 8 rows per unit
--       scan visits
--   groups: one; one unit has at most 8 rows in it
--   count of an expression: Laplace, sensitivity 8 (l1), scale 44.4444, pure epsilon 0.18 (add or remove one unit)
--       18 % of epsilon, for r, slope, start
--   centred sum of an expression: Laplace, sensitivity 20000 (l1), scale 111111, pure epsilon 0.18 (add or remove one unit)
--       18 % of epsilon, for r, slope, start
--   centred sum of pulse: Laplace, sensitivity 920 (l1), scale 5111.11, pure epsilon 0.18 (add or remove one unit)
--       18 % of epsilon, for r, slope, start
--   centred sum of products of an expression and pulse: Laplace, sensitivity 2300000 (l1), scale 1.27778e+07, pure epsilon 0.18 (add or remove one unit)
--       18 % of epsilon, for r, slope, start
--   centred sum of squares of an expression: Laplace, sensitivity 25000000 (l1), scale 2.27273e+08, pure epsilon 0.11 (add or remove one unit)
--       11 % of epsilon, for r
--   centred sum of squares of pulse: Laplace, sensitivity 52900 (l1), scale 311176, pure epsilon 0.17 (add or remove one unit)
--       17 % of epsilon, for r, slope, start
--   r: not known in advance; it is reported with the answer
--   slope: not known in advance; it is reported with the answer
--   start: not known in advance; it is reported with the answer
--   price: epsilon 1

-- answered: 33 logarithms of a bounded expression, on a public default step
SELECT EXP(AVG(LN(cost + 1))) - 1 AS geometric FROM visits;
--   all rows together
--     keep at most 8 rows per unit
--       scan visits
--   groups: one; one unit has at most 8 rows in it
--   count: Laplace, sensitivity 8 (l1), scale 19.5122, pure epsilon 0.41 (add or remove one unit)
--       41 % of epsilon, for geometric
--   centred sum of an expression: Laplace, sensitivity 34.06956 (l1), scale 57.745, pure epsilon 0.59 (add or remove one unit)
--       59 % of epsilon, for geometric
--   geometric: not known in advance; it is reported with the answer
--   price: epsilon 1

-- answered: 101 different values under a condition
SELECT COUNT(DISTINCT ward) FILTER (WHERE urgent) AS wards, COUNT(DISTINCT urgent) AS truths FROM visits;
--   all rows together
--     keep at most 8 rows per unit
--       scan visits
--   groups: one; one unit has at most 8 rows in it
--   number of different values of an expression: Laplace, sensitivity 4 (l1), scale 8, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for wards
--   number of different values of urgent: Laplace, sensitivity 2 (l1), scale 4, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for truths
--   wards: ± 24 at 0.95 confidence
--   truths: ± 12 at 0.95 confidence
--   price: epsilon 1

-- answered: 102 covariances by group
SELECT kind, COVAR_POP(cost, pulse) AS a, COVAR_SAMP(cost, pulse) AS b FROM visits GROUP BY kind;
--   group by kind (3)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 3, all of them public; one unit touches at most 3, with at most 8 rows in each
--   count of an expression: Laplace, sensitivity 8 (l1), scale 32, pure epsilon 0.25 (add or remove one unit)
--       25 % of epsilon, for a, b
--   centred sum of an expression: Laplace, sensitivity 20000 (l1), scale 80000, pure epsilon 0.25 (add or remove one unit)
--       25 % of epsilon, for a, b
--   centred sum of pulse: Laplace, sensitivity 920 (l1), scale 3680, pure epsilon 0.25 (add or remove one unit)
--       25 % of epsilon, for a, b
--   centred sum of products of an expression and pulse: Laplace, sensitivity 2300000 (l1), scale 9200000, pure epsilon 0.25 (add or remove one unit)
--       25 % of epsilon, for a, b
--   a: not known in advance; it is reported with the answer
--   b: not known in advance; it is reported with the answer
--   price: epsilon 1

-- answered: 103 roots, and logarithms of values that may be 0
SELECT AVG(SQRT(cost)) AS root, AVG(LOG10(GREATEST(cost, 1))) AS digits FROM visits;
--   all rows together
--     keep at most 8 rows per unit
--       scan visits
--   groups: one; one unit has at most 8 rows in it
--   count: Laplace, sensitivity 8 (l1), scale 26.6667, pure epsilon 0.3 (add or remove one unit)
--       30 % of epsilon, for root, digits
--   centred sum of an expression: Laplace, sensitivity 282.8424 (l1), scale 808.121, pure epsilon 0.35 (add or remove one unit)
--       35 % of epsilon, for root
--   centred sum of an expression: Laplace, sensitivity 14.79588 (l1), scale 42.2739, pure epsilon 0.35 (add or remove one unit)
--       35 % of epsilon, for digits
--   root: needs the size of a group: --group-rows 1000 gives ± 3.86172, at 0.95 confidence
--   digits: needs the size of a group: --group-rows 1000 gives ± 0.202012, at 0.95 confidence
--   price: epsilon 1

-- refused: 104 a logarithm whose argument may be 0
SELECT AVG(LN(cost)) AS logarithm FROM visits;
--   wrong_type: line 1, column 12: the argument of LN must be above 0; it can be 0; write LN(x + 1) or LN(GREATEST(x, 1))

-- refused: 105 the base of LOG differs between dialects
SELECT AVG(LOG(cost + 1)) AS logarithm FROM visits;
--   not_allowed: line 1, column 12: LOG is not supported: its base differs between dialects; write LN(x) or LOG10(x)

-- refused: 106 a pair with a category
SELECT CORR(cost, ward) AS r FROM visits;
--   wrong_type: line 1, column 8: CORR needs two numbers, not a category

-- refused: 107 different values of several columns
SELECT COUNT(DISTINCT ward, kind) AS places FROM visits;
--   not_allowed: line 1, column 8: COUNT(DISTINCT ...) of several columns is not supported; count one expression

-- answered: 108 the most frequent value, a choice among the declared ones
SELECT MODE(ward) AS usual FROM visits;
--   all rows together
--     keep at most 8 rows per unit
--       scan visits
--   groups: one; one unit has at most 8 rows in it
--   mode of ward: exponential mechanism over 4 declared values, sensitivity 8 rows, scale 8, pure epsilon 1 (add or remove one unit)
--   usual: a chosen value, without an interval; at most 35.0562 rows below the most frequent at 0.95 confidence
--   price: epsilon 1

-- answered: 109 the same in every group, beside a count
SELECT ward, MODE() WITHIN GROUP (ORDER BY kind) AS usual, COUNT(*) AS n FROM visits GROUP BY ward;
--   group by ward (5)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count: Laplace, sensitivity 8 (l1), scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for n
--   mode of kind: exponential mechanism over 3 declared values, sensitivity 8 rows, scale 16, pure epsilon 0.5 (add or remove one unit)
--       50 % of epsilon, for usual
--   usual: a chosen value, without an interval; at most 65.5095 rows below the most frequent at 0.95 confidence
--   n: ± 48 at 0.95 confidence
--   price: epsilon 1

-- refused: 110 the most frequent private text
SELECT MODE(diagnosis) AS usual FROM visits;
--   wrong_type: line 1, column 8: MODE needs declared values, not private text; group by it instead

-- refused: 111 a chosen value in an expression
SELECT ward, MODE(kind) AS usual FROM visits GROUP BY ward ORDER BY usual;
--   not_allowed: line 1, column 69: MODE must be an item of SELECT by itself: it is a chosen value, not a number with an interval; leave it out of expressions, HAVING, QUALIFY and ORDER BY

-- answered: 112 a linear model with two regressors, a column for each of its parts
SELECT LINREG(cost, pulse, pulse * pulse) AS model FROM visits;
--   all rows together
--     keep at most 8 rows per unit
--       scan visits
--   groups: one; one unit has at most 8 rows in it
--   count of an expression: Laplace, sensitivity 8 (l1), scale 76.1905, pure epsilon 0.105 (add or remove one unit)
--       10.5 % of epsilon, for model_intercept, model_slope_pulse, model_slope_2, model_r2
--   centred sum of an expression: Laplace, sensitivity 20000 (l1), scale 190476, pure epsilon 0.105 (add or remove one unit)
--       10.5 % of epsilon, for model_intercept, model_slope_pulse, model_slope_2, model_r2
--   centred sum of an expression: Laplace, sensitivity 920 (l1), scale 8761.9, pure epsilon 0.105 (add or remove one unit)
--       10.5 % of epsilon, for model_intercept, model_slope_pulse, model_slope_2, model_r2
--   centred sum of an expression: Laplace, sensitivity 248400 (l1), scale 2.38846e+06, pure epsilon 0.104 (add or remove one unit)
--       10.4 % of epsilon, for model_intercept, model_slope_pulse, model_slope_2, model_r2
--   centred sum of squares of an expression: Laplace, sensitivity 52900 (l1), scale 508654, pure epsilon 0.104 (add or remove one unit)
--       10.4 % of epsilon, for model_intercept, model_slope_pulse, model_slope_2, model_r2
--   centred sum of squares of an expression: Laplace, sensitivity 3856410000 (l1), scale 3.70809e+10, pure epsilon 0.104 (add or remove one unit)
--       10.4 % of epsilon, for model_intercept, model_slope_pulse, model_slope_2, model_r2
--   centred sum of products of an expression and an expression: Laplace, sensitivity 2300000 (l1), scale 2.21154e+07, pure epsilon 0.104 (add or remove one unit)
--       10.4 % of epsilon, for model_intercept, model_slope_pulse, model_slope_2, model_r2
--   centred sum of products of an expression and an expression: Laplace, sensitivity 621000000 (l1), scale 5.97115e+09, pure epsilon 0.104 (add or remove one unit)
--       10.4 % of epsilon, for model_intercept, model_slope_pulse, model_slope_2, model_r2
--   centred sum of products of an expression and an expression: Laplace, sensitivity 28566000 (l1), scale 2.74673e+08, pure epsilon 0.104 (add or remove one unit)
--       10.4 % of epsilon, for model_intercept, model_slope_pulse, model_slope_2, model_r2
--   centred sum of squares of an expression: Laplace, sensitivity 25000000 (l1), scale 4.09836e+08, pure epsilon 0.061 (add or remove one unit)
--       6.1 % of epsilon, for model_r2
--   model_intercept: not known in advance; it is reported with the answer
--   model_slope_pulse: not known in advance; it is reported with the answer
--   model_slope_2: not known in advance; it is reported with the answer
--   model_r2: not known in advance; it is reported with the answer
--   price: epsilon 1

-- answered: 113 one slope of a model in every group, where another part chooses the rows
SELECT ward, LINREG_SLOPE(1, cost, pulse) AS slope FROM visits GROUP BY ward HAVING LINREG_R2(cost, pulse) > 0.1 ORDER BY slope;
--   group by ward (5)
--     keep at most 8 rows per unit
--       scan visits
--   groups: 5, all of them public; one unit touches at most 5, with at most 8 rows in each
--   count of an expression: Laplace, sensitivity 8 (l1), scale 44.4444, pure epsilon 0.18 (add or remove one unit)
--       18 % of epsilon, for slope
--   centred sum of an expression: Laplace, sensitivity 20000 (l1), scale 111111, pure epsilon 0.18 (add or remove one unit)
--       18 % of epsilon, for slope
--   centred sum of pulse: Laplace, sensitivity 920 (l1), scale 5411.76, pure epsilon 0.17 (add or remove one unit)
--       17 % of epsilon, for slope
--   centred sum of squares of pulse: Laplace, sensitivity 52900 (l1), scale 311176, pure epsilon 0.17 (add or remove one unit)
--       17 % of epsilon, for slope
--   centred sum of products of an expression and pulse: Laplace, sensitivity 2300000 (l1), scale 1.35294e+07, pure epsilon 0.17 (add or remove one unit)
--       17 % of epsilon, for slope
--   centred sum of squares of an expression: Laplace, sensitivity 25000000 (l1), scale 1.92308e+08, pure epsilon 0.13 (add or remove one unit)
--       13 % of epsilon
--   slope: not known in advance; it is reported with the answer
--   price: epsilon 1

-- refused: 114 a model in an expression
SELECT LINREG(cost, pulse) + 1 AS more FROM visits;
--   not_allowed: line 1, column 8: LINREG must be an item of SELECT by itself: it stands for several columns; use LINREG_SLOPE(1, y, x1, x2), LINREG_INTERCEPT(y, x1, x2) or LINREG_R2(y, x1, x2)

-- refused: 115 a regressor that the model does not have
SELECT LINREG_SLOPE(3, cost, pulse, pulse * pulse) AS slope FROM visits;
--   wrong_type: line 1, column 8: LINREG_SLOPE begins with the number of a regressor, from 1 to 2; write LINREG_SLOPE(1, y, x1, x2) for x1

-- refused: 116 a model of a column on itself
SELECT LINREG_R2(cost, pulse, pulse) AS r2 FROM visits;
--   not_allowed: line 1, column 8: LINREG_R2 of a column and itself has no solution, or one that does not depend on the data; name each column once

-- refused: 117 a model of a category
SELECT LINREG_R2(cost, ward) AS r2 FROM visits;
--   wrong_type: line 1, column 8: LINREG_R2 needs numbers, not a category

-- refused: 118 a model without regressors
SELECT LINREG(cost) FROM visits;
--   not_allowed: line 1, column 8: LINREG takes a column and 1 to 8 regressors, not 1 arguments; write LINREG(y, x1, x2)
