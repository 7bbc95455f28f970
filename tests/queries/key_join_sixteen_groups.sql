-- unit: row, 1 row each, add/remove · keys: branch, kind, public · budget: epsilon=1
SELECT branch, kind, COUNT(*)
FROM reminders JOIN loans ON reminders.loan_id = loans.loan
GROUP BY branch, kind;
-- plan:      reminders → bound 16 → inner join on unit and key(loans → bound 8 ×1) → group(branch 11, kind 3) → rows() → count
-- stability: count 16 · groups touched 16 · rows in one 16
-- price:     epsilon 1 = 1 Laplace(scale 16) on the count
