"""Messages as real packets, in ns-3's Python package: TCP over the links of a fabric.

A worker process (`worker`) has ns-3 and is asked, in lines of JSON (`process`), how jobs run together on a
graph of links (`question`); `model` asks it for the collectives of one placement, or for several jobs.
"""
