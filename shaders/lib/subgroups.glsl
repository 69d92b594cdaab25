// SUBGROUP, where it is not 0: the invocations of a subgroup, which pass values without shared memory
// (GL_KHR_shader_subgroup_basic and _shuffle).
//
// place() is an invocation's number in its workgroup, which kernels take for gl_LocalInvocationIndex: neighbours by it
// are in one subgroup. Vulkan does not say in which subgroup an invocation is, nor that subgroups are full or as large as
// the device says. Where they are not, fills_subgroups() is false in the whole workgroup, which does without them.
#if SUBGROUP
bool fills_subgroups() { return gl_SubgroupSize == SUBGROUP && gl_NumSubgroups * SUBGROUP == WORKGROUP; }
uint place() {
    return fills_subgroups() ? gl_SubgroupID * SUBGROUP + gl_SubgroupInvocationID : gl_LocalInvocationIndex;
}
#else
uint place() { return gl_LocalInvocationIndex; }
#endif
