-- unit: row, 1 row each, add/remove · keys: branch, public · budget: epsilon=1
SELECT branch, COUNT(*)
FROM loans JOIN (SELECT loan_id, COUNT(*) AS n FROM reminders GROUP BY loan_id) AS r ON r.loan_id = loans.loan
WHERE n >= 2
GROUP BY branch;
-- plan:      loans → bound 8 → inner join on unit and key(reminders → bound 16 → per unit(loan_id, rows) ×1) → where → group(branch 11) → rows() → count
-- stability: count 8 · groups touched 8 · rows in one 8
-- price:     epsilon 1 = 1 Laplace(scale 8) on the count
