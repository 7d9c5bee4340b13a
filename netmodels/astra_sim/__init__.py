"""ASTRA-sim as a network model: the user's own program, asked about one placement at a time.

`locate` finds and identifies the program, `inputs` and `chakra` (ASTRA-sim 2.x), `version1` (1.0) and `ns3`
write its input, `process` runs it, `outputs` reads its output, `model` puts them together.
The use of all settings: docs/astra_sim.md.
"""
