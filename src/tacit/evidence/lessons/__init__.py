"""Numbers and pictures for a class: two neighbouring laws, sensitivities of numbers called out, totals of many releases."""
