// SUBGROUP: the subgroup size, if invocations exchange values by subgroup operations instead of shared memory; else 0
// (GL_KHR_shader_subgroup_basic and _shuffle).
//
// place() is an invocation's number in its workgroup, used in place of gl_LocalInvocationIndex: adjacent numbers are in
// one subgroup. Vulkan does not say which subgroup an invocation is in, nor that subgroups are full or of the device's
// size. If they are not, fills_subgroups() is false in the whole workgroup, which then works without subgroups.
#if SUBGROUP
bool fills_subgroups() { return gl_SubgroupSize == SUBGROUP && gl_NumSubgroups * SUBGROUP == WORKGROUP; }
uint place() {
    return fills_subgroups() ? gl_SubgroupID * SUBGROUP + gl_SubgroupInvocationID : gl_LocalInvocationIndex;
}
#else
uint place() { return gl_LocalInvocationIndex; }
#endif
