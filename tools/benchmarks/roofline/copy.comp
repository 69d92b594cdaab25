#version 450
// Each invocation copies four vectors of sixteen bytes from one buffer to another.
layout(local_size_x = 128) in;
layout(push_constant) uniform Push { uint a_offset, b_offset; };
layout(set = 0, binding = 0, std430) readonly buffer A { uvec4 a[]; };
layout(set = 0, binding = 1, std430) writeonly buffer B { uvec4 b[]; };

void main() {
    uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 512u + gl_LocalInvocationIndex;
    uvec4 x[4];
    for (uint k = 0u; k < 4u; ++k) x[k] = a[a_offset / 4u + i + 128u * k];
    for (uint k = 0u; k < 4u; ++k) b[b_offset / 4u + i + 128u * k] = x[k];
}
