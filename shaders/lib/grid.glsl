// Grids above 65,535 workgroups fold into y and z: the linear index of this workgroup and of this invocation.
uint workgroup_index() {
    return (gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}

uint global_index() {
    return workgroup_index() * WORKGROUP + gl_LocalInvocationIndex;
}
