"""Pricing of language models: tensor, pipeline, context, expert and data parallelism on a placement.

Public names, all in `netmodels.api`: `get_architecture(name)` and `is_architecture(name)` of an
`Architecture`; `Plan.parse(text)` and `str(plan)` of `tp8 pp4 vp5 mb1`, `plan.check(architecture, gpus)`,
`plan.groups(gpus)`, and the units of a placement: `plan.unit`, `plan.segment(gpus)`, `plan.replica`.
`language_profile(model, plan, gpu_type, speed, mapping)` is the `Profile` that network models price, with a
`program`: `free_ns(gpus)` of a step on a free network, `step(shape, fabric)` by role, `lacking(gpus, bytes)`
of memory.
"""
