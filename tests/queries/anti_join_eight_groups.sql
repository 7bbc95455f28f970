-- unit: row, 1 row each, add/remove · bounds: fee [0, 50] · keys: branch, public · budget: epsilon=1
SELECT branch, SUM(fee)
FROM loans
WHERE NOT EXISTS (SELECT 1 FROM reminders WHERE reminders.loan_id = loans.loan)
GROUP BY branch;
-- plan:      loans → bound 8 → anti-join(reminders → bound 16) → group(branch 11) → sum(fee) → sum
-- stability: sum 400 · groups touched 8 · rows in one 8
-- price:     epsilon 1 = 1 Laplace(scale 400) on the sum
