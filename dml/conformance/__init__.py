"""`dml conformance`: every operator on every Vulkan device against float64 references, and reports to send.

What a case is and how one runs: ``subject``, ``case``, ``values``, ``layouts``, ``limits``, ``compare``, ``execution``,
with ``families`` and ``references``. Around it: ``suite`` (which cases), ``runner`` and ``worker`` (processes),
``journal`` (a killed run goes on), ``report`` and what is made of one.
"""
