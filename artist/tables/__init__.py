"""Tables: users' CSV and JSON files read and checked, tables of texts printed."""
