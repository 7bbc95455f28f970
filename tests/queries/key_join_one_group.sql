-- unit: row, 1 row each, add/remove · bounds: fee [0, 50] · budget: epsilon=1
SELECT SUM(fee)
FROM reminders JOIN loans ON reminders.loan_id = loans.loan
WHERE kind = 'letter';
-- plan:      reminders → bound 16 → inner join on unit and key(loans → bound 8 ×1) → where → sum(fee) → sum
-- stability: sum 800 · groups touched 1 · rows in one 16
-- price:     epsilon 1 = 1 Laplace(scale 800) on the sum
