"""What a paper claims, in one data file each, and what our runs say of it."""
