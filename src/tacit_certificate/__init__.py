"""An independent checker of tacit's certificates: it shares no code with tacit, and needs Python and `cryptography` alone.

Copy this folder out, or install tacit, and run: python -m tacit_certificate FILE --key PUB. To read it in an afternoon: `document`
(files, numbers, signatures), `numbers` (e^x between two rationals, laws of noise), `ranges` and `stability` (what one unit can
change), `price` (mechanisms, events), `orders` (the filter), `check` (one certificate), `ledger` (all of them). Only certificates
that need them enter the small modules beside these: `closer` (ranges that need a closer look), `curve` (Gaussian noise that is
calibrated as a whole), `margins` (measurements that parts of a question share), `series` (running totals), `periods` (a budget of
each period), `ways` (all that is not a question). A new rule gets a row in a table (`ranges.RANGES`, `stability.TOTALS`,
`price.KINDS`) or such a module. The format: docs/reference/certificate-format.md.
"""
