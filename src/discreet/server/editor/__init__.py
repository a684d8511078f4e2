"""A page on the custodian's own machine that edits a domain, before there is a vault."""
