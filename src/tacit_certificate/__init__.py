"""An independent checker of tacit's certificates: it shares no code with tacit, and needs Python and `cryptography` alone.

Copy this folder out, or install tacit, and run: python -m tacit_certificate FILE --key PUB. To read it in an afternoon: `document`
(files, numbers, signatures), `numbers` (e^x between two rationals, laws of noise), `ranges` and `stability` (what one unit can
change), `price` (mechanisms, events, the filter), `margins` (measurements that parts of a question share), `check` (one
certificate), `ledger` (all of them). The format: docs/reference/certificate-format.md.
"""
