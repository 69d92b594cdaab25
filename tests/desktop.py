"""A desktop GPU, for tests of the choices for one."""

from __future__ import annotations

from dml.compiler.target import DeviceClass, Target

DESKTOP = Target(
    device_class=DeviceClass.DISCRETE,
    max_workgroup_invocations=1024,
    max_workgroup_size=(1024, 1024, 64),
    shared_memory=49152,
    subgroup_size=32,
)
