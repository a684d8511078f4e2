"""The audit of a vault: its journal, answers, published folders and files, read and added up again by other code."""
