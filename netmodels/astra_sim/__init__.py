"""ASTRA-sim as a network model: the user's own program, asked about one placement at a time.

`locate` finds the program and what it is, `inputs` and `chakra` (ASTRA-sim 2.x), `version1` (1.0) and
`ns3` write what it reads, `process` runs it, `outputs` read what it says, `model` puts them together.
"""
