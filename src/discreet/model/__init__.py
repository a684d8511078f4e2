"""The maximum-entropy model of a table: what released numbers tell of all of it, fitted, and drawn as rows."""
