"""Plans kept, replayed and traced over sizes, so that the next input shape costs less than the first.

A plan is what a model, or a part of it, compiles to for one set of input shapes. Planning looks for the most complete
result that still applies, and only then computes:

=========================== ============================== ==================================== =====================
kept                        for                            valid while                          bound
=========================== ============================== ==================================== =====================
the plan (``plans``)        one set of input shapes        shapes, and values read while        plans and bytes per
                                                           planning, are equal                  model
a pattern (``patterns``)    sizes that keep changing       the comparisons of sizes made while  patterns per part
                                                           planning come out the same
a node's mapping            nodes with equal attributes    its inputs' layouts and constants    nodes and bytes per
(``onnx.map.mapped``)       in any plan and layer          are equal                            part
a lowering                  operators of equal             description, layouts and aliasing    lowerings per process
(``compiler.repeated``)     descriptions                   are equal
=========================== ============================== ==================================== =====================

What each layer saves: CPU time without it divided by the time with all four, for a decoder of 12 layers whose past
grows by one token at a time, as ``tools/bench --planning`` measures it (lavapipe, November 2026; ``-``: plays no part).

========== ========== =========== ========== ===========
without    first plan next length 64 lengths same length
========== ========== =========== ========== ===========
(with all) 54 ms      35 ms       947 ms     0.4 ms
plans      ``-``      ``-``       ``-``      6.4
patterns   ``-``      ``-``       2.5        ``-``
mappings   1.4        2.3         1.7        ``-``
lowerings  1.9        2.4         2.0        ``-``
========== ========== =========== ========== ===========

``dml.traced`` has the integers by which a pattern is made: they remember how they were computed. Each level is exact:
the plan equals, dispatch by dispatch, the one that a fresh model makes. ``planner`` is a device that only plans.
"""
