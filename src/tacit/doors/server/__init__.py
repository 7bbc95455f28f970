"""The server: HTTPS in front, one clerk with the ledger, and engines with the data, each in a process of its own."""
