/* Runs one failing case of dml's conformance suite with only Vulkan, and compares its outputs with what they must be.

   gcc -O1 reproduce.c -lvulkan -lm -o reproduce && ./reproduce          (in this folder; any C99 compiler)
   ./reproduce "a part of a device's name"                              (another device)

   Each dispatch is recorded with a full memory barrier after it, into one command buffer. It runs RUNS times. Kernels are
   bound to MARGIN bytes beyond each of their regions, so that writes there are seen; memory that nothing wrote holds NaNs.
   Exit status: 0 every output is right in every run; 1 one is wrong, or the driver refuses a kernel; 2 it could not be run. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

enum { RUNS = 3, MOST_SHOWN = 8, UNTOUCHED = 0xA5, EARLIER = 0xFF, MARGIN = 256, WAIT_SECONDS = 60 };

/* A VkPhysicalDevice...Features structure: its type, and its booleans. */
typedef struct { uint32_t type, count; VkBool32 on[12]; } Feature;
/* A buffer: bytes before its contents, their size, and the file that it starts with (NULL: EARLIER).
   Outputs start as UNTOUCHED. */
typedef struct { const char *name; uint64_t origin, size; const char *file; int is_output; } Resource;
/* A binding: a range of a resource; texel: words of a texel of a uniform texel buffer, 0 for a storage buffer. */
typedef struct { uint32_t resource; uint64_t offset, size; uint32_t texel; } Binding;
/* A kernel over workgroups. The first push constants, one for each binding, are the words from the bound range's start. */
typedef struct {
    const char *spirv, *what;
    uint32_t bindings; const Binding *binding;
    uint32_t groups[3];
    uint32_t pushes; const uint32_t *push;
    uint32_t parameters; const uint32_t *parameter; /* of the uniform block, which is bound last */
} Dispatch;
/* An output: elements by sizes and strides (in elements). expected: its bytes. bounds: two doubles for each element, the
   least and the greatest that it may be. flushed_...: the same where subnormal inputs count as zeros, which Vulkan allows. */
typedef struct {
    uint32_t resource; const char *name; char kind; uint32_t bits, rank; uint64_t sizes[8], strides[8];
    int is_exact, is_copied;
    const char *expected, *bounds, *flushed_expected, *flushed_bounds;
} Output;

/* THE CASE */

static void stop(int status, const char *what, const char *which, int code)
{
    fprintf(stderr, "%s %s", what, which);
    if (code) fprintf(stderr, ": VkResult %d", code);
    fprintf(stderr, "\n");
    exit(status);
}

static void need(VkResult result, const char *what)
{
    if (result != VK_SUCCESS) stop(2, "Vulkan refuses", what, result);
}

static void *bytes_of(const char *file, uint64_t size)
{
    FILE *stream = fopen(file, "rb");
    unsigned char *bytes = malloc(size ? size : 1);
    if (!stream || !bytes) stop(2, "cannot read", file, 0);
    if (fread(bytes, 1, size, stream) != size) stop(2, "too short:", file, 0);
    fclose(stream);
    return bytes;
}

static uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

/* ---- the device ---- */

static VkInstance instance;
static VkPhysicalDevice physical;
static VkPhysicalDeviceProperties properties;
static VkDevice device;
static VkQueue queue;
static uint32_t family;

static void open_device(const char *name)
{
    VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO, NULL, "reproduce", 1, NULL, 0, API_VERSION};
    VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, NULL, 0, &application, 0, NULL, 0, NULL};
    need(vkCreateInstance(&info, NULL, &instance), "an instance");
    VkPhysicalDevice found[16];
    uint32_t count = 16;
    VkResult result = vkEnumeratePhysicalDevices(instance, &count, found);
    if (result != VK_INCOMPLETE) need(result, "the list of devices");
    for (uint32_t i = 0; i < count && !physical; i++) {
        vkGetPhysicalDeviceProperties(found[i], &properties);
        if (strstr(properties.deviceName, name)) physical = found[i];
    }
    if (!physical) {
        for (uint32_t i = 0; i < count; i++) {
            vkGetPhysicalDeviceProperties(found[i], &properties);
            fprintf(stderr, "there is %s\n", properties.deviceName);
        }
        stop(2, "no device is named", name, 0);
    }
    VkQueueFamilyProperties families[32];
    count = 32;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (family = 0; family < count && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT); family++) {}
    if (family == count) stop(2, "no queue computes on", name, 0);
    /* Each feature structure in the device's chain is its type, a pointer to the next one, and its booleans. */
    typedef struct { VkBaseOutStructure head; VkBool32 on[12]; } Link;
    static Link links[sizeof FEATURES / sizeof *FEATURES];
    void *chain = NULL;
    for (size_t i = 0; i < sizeof FEATURES / sizeof *FEATURES; i++) {
        if (!FEATURES[i].type) continue;
        links[i].head.sType = (VkStructureType)FEATURES[i].type;
        links[i].head.pNext = chain;
        memcpy((char *)&links[i] + sizeof(VkBaseOutStructure), FEATURES[i].on, 4 * FEATURES[i].count);
        chain = &links[i];
    }
    uint32_t extensions = 0;
    while (EXTENSIONS[extensions]) extensions++;
    float priority = 1;
    VkDeviceQueueCreateInfo one = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, family, 1, &priority};
    VkDeviceCreateInfo create = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, chain, 0, 1, &one, 0, NULL, extensions, EXTENSIONS, NULL};
    need(vkCreateDevice(physical, &create, NULL, &device), "a device with these features");
    vkGetDeviceQueue(device, family, 0, &queue);
    printf("%s, driver version %u, Vulkan %u.%u\n", properties.deviceName, properties.driverVersion,
           VK_VERSION_MAJOR(properties.apiVersion), VK_VERSION_MINOR(properties.apiVersion));
}

/* ---- memory ---- */

typedef struct { VkBuffer buffer; unsigned char *bytes; uint64_t size; } Memory;

static Memory memory_of(uint64_t size)
{
    Memory made;
    made.size = round_up(size, 16) + MARGIN;
    VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT;
    VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, NULL, 0, made.size, usage, VK_SHARING_MODE_EXCLUSIVE, 0, NULL};
    need(vkCreateBuffer(device, &info, NULL, &made.buffer), "a buffer");
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, made.buffer, &needs);
    VkPhysicalDeviceMemoryProperties types;
    vkGetPhysicalDeviceMemoryProperties(physical, &types);
    const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    /* The device's own memory where the host sees it, else the host's. */
    for (int own = 1; own >= 0 && !memory; own--)
        for (uint32_t i = 0; i < types.memoryTypeCount && !memory; i++) {
            VkMemoryPropertyFlags wanted = host | (own ? VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT : 0);
            if (!(needs.memoryTypeBits & 1u << i) || (types.memoryTypes[i].propertyFlags & wanted) != wanted) continue;
            VkMemoryAllocateInfo allocate = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, NULL, needs.size, i};
            if (vkAllocateMemory(device, &allocate, NULL, &memory) != VK_SUCCESS) memory = VK_NULL_HANDLE;
        }
    if (!memory) stop(2, "no memory for", "a buffer", 0);
    need(vkBindBufferMemory(device, made.buffer, memory, 0), "a buffer's memory");
    void *mapped;
    need(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped), "mapping memory");
    made.bytes = mapped;
    memset(made.bytes, 0, made.size);
    return made;
}

enum { RESOURCES = sizeof RESOURCE / sizeof *RESOURCE, OUTPUTS = sizeof OUTPUT / sizeof *OUTPUT, DISPATCHES = sizeof DISPATCH / sizeof *DISPATCH };
static Memory memory[RESOURCES];

static void fill_resources(void)
{
    for (int i = 0; i < RESOURCES; i++) {
        if (!memory[i].buffer) memory[i] = memory_of(RESOURCE[i].origin + RESOURCE[i].size + RESOURCE[i].origin);
        memset(memory[i].bytes, RESOURCE[i].is_output ? UNTOUCHED : EARLIER, memory[i].size);
        if (!RESOURCE[i].file) continue;
        void *bytes = bytes_of(RESOURCE[i].file, RESOURCE[i].size);
        memcpy(memory[i].bytes + RESOURCE[i].origin, bytes, RESOURCE[i].size);
        free(bytes);
    }
}

/* ---- a dispatch ---- */

typedef struct { VkPipeline pipeline; VkPipelineLayout layout; VkDescriptorSet set; uint32_t *words; uint32_t count; } Kernel;

static VkDescriptorType type_of(const Dispatch *dispatch, uint32_t at)
{
    if (at == dispatch->bindings) return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    return dispatch->binding[at].texel ? VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

static Kernel made_kernel(const Dispatch *dispatch)
{
    Kernel made;
    uint32_t count = dispatch->bindings + (dispatch->parameters > 0);
    VkDescriptorSetLayoutBinding *slots = calloc(count + 1, sizeof *slots);
    VkDescriptorPoolSize *pool_sizes = calloc(count + 1, sizeof *pool_sizes);
    for (uint32_t i = 0; i < count; i++) {
        VkDescriptorSetLayoutBinding slot = {i, type_of(dispatch, i), 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
        VkDescriptorPoolSize size = {slot.descriptorType, 1};
        slots[i] = slot;
        pool_sizes[i] = size;
    }
    VkDescriptorSetLayoutCreateInfo set_info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, NULL, 0, count, slots};
    VkDescriptorSetLayout set_layout;
    need(vkCreateDescriptorSetLayout(device, &set_info, NULL, &set_layout), "a descriptor set's layout");
    made.count = dispatch->bindings + dispatch->pushes;
    made.words = calloc(made.count + 1, 4);
    VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 4 * made.count};
    VkPipelineLayoutCreateInfo layout_info = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, NULL, 0, 1, &set_layout, 1, &push};
    need(vkCreatePipelineLayout(device, &layout_info, NULL, &made.layout), "a pipeline's layout");
    FILE *stream = fopen(dispatch->spirv, "rb");
    if (!stream || fseek(stream, 0, SEEK_END)) stop(2, "cannot read", dispatch->spirv, 0);
    uint64_t size = (uint64_t)ftell(stream);
    fclose(stream);
    VkShaderModuleCreateInfo module_info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, NULL, 0, size, bytes_of(dispatch->spirv, size)};
    VkShaderModule module;
    VkResult result = vkCreateShaderModule(device, &module_info, NULL, &module);
    if (result != VK_SUCCESS) stop(1, "the driver refuses the shader module", dispatch->spirv, result);
    VkPipelineShaderStageCreateInfo stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, NULL, 0, VK_SHADER_STAGE_COMPUTE_BIT, module, "main", NULL};
    VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, NULL, VK_PIPELINE_CREATE_DISPATCH_BASE_BIT, stage, made.layout, VK_NULL_HANDLE, 0};
    result = vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &made.pipeline);
    if (result != VK_SUCCESS) stop(1, "the driver does not compile", dispatch->spirv, result);
    VkDescriptorPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, NULL, 0, 1, count, pool_sizes};
    VkDescriptorPool pool;
    need(vkCreateDescriptorPool(device, &pool_info, NULL, &pool), "descriptors");
    VkDescriptorSetAllocateInfo set = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, NULL, pool, 1, &set_layout};
    need(vkAllocateDescriptorSets(device, &set, &made.set), "a descriptor set");
    VkDeviceSize alignment = properties.limits.minStorageBufferOffsetAlignment;
    if (properties.limits.minTexelBufferOffsetAlignment > alignment) alignment = properties.limits.minTexelBufferOffsetAlignment;
    for (uint32_t i = 0; i < count; i++) {
        VkDescriptorBufferInfo range = {VK_NULL_HANDLE, 0, 0};
        VkBufferView view = VK_NULL_HANDLE;
        if (i == dispatch->bindings) {
            Memory block = memory_of(4 * dispatch->parameters);
            memcpy(block.bytes, dispatch->parameter, 4 * dispatch->parameters);
            range.buffer = block.buffer;
            range.range = round_up(4 * dispatch->parameters, 16);
        } else {
            const Binding *binding = &dispatch->binding[i];
            uint64_t first = RESOURCE[binding->resource].origin + binding->offset;
            range.buffer = memory[binding->resource].buffer;
            range.offset = first / alignment * alignment;
            range.range = round_up(first + binding->size, 16) + MARGIN - range.offset;
            made.words[i] = (uint32_t)((first - range.offset) / 4);
            if (binding->texel) {
                VkBufferViewCreateInfo view_info = {VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO, NULL, 0, range.buffer,
                    binding->texel == 4 ? VK_FORMAT_R32G32B32A32_UINT : VK_FORMAT_R32_UINT, range.offset, range.range};
                need(vkCreateBufferView(device, &view_info, NULL, &view), "a view of texels");
            }
        }
        VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, NULL, made.set, i, 0, 1, type_of(dispatch, i), NULL, view ? NULL : &range, view ? &view : NULL};
        vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
    }
    memcpy(made.words + dispatch->bindings, dispatch->push, 4 * dispatch->pushes);
    return made;
}

static VkCommandBuffer recorded(const Kernel *kernels)
{
    VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL, 0, family};
    VkCommandPool pool;
    need(vkCreateCommandPool(device, &pool_info, NULL, &pool), "a command pool");
    VkCommandBufferAllocateInfo allocate = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    VkCommandBuffer commands;
    need(vkAllocateCommandBuffers(device, &allocate, &commands), "a command buffer");
    VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, NULL, 0, NULL};
    need(vkBeginCommandBuffer(commands, &begin), "recording");
    VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT, VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    for (int i = 0; i < DISPATCHES; i++) {
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernels[i].pipeline);
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernels[i].layout, 0, 1, &kernels[i].set, 0, NULL);
        vkCmdPushConstants(commands, kernels[i].layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4 * kernels[i].count, kernels[i].words);
        vkCmdDispatchBase(commands, 0, 0, 0, DISPATCH[i].groups[0], DISPATCH[i].groups[1], DISPATCH[i].groups[2]);
        vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
    }
    need(vkEndCommandBuffer(commands), "recording");
    return commands;
}

static void run(VkCommandBuffer commands)
{
    VkFenceCreateInfo fence_info = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, NULL, 0};
    VkFence fence;
    need(vkCreateFence(device, &fence_info, NULL, &fence), "a fence");
    VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO, NULL, 0, NULL, NULL, 1, &commands, 0, NULL};
    VkResult result = vkQueueSubmit(queue, 1, &submit, fence);
    if (result != VK_SUCCESS) stop(1, "the submission", "failed", result);
    result = vkWaitForFences(device, 1, &fence, VK_TRUE, WAIT_SECONDS * 1000000000ull);
    if (result == VK_TIMEOUT) stop(1, "the submission", "did not end in time", result);
    if (result != VK_SUCCESS) stop(1, "the submission", "failed", result);
    vkDestroyFence(device, fence, NULL);
}

/* ---- the comparison ---- */

static double half_of(uint32_t bits)
{
    uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31 ? (fraction ? NAN : INFINITY) : exponent ? ldexp(1024.0 + fraction, (int)exponent - 25) : ldexp(fraction, -24);
    return bits & 0x8000 ? -value : value;
}

static uint64_t bits_at(const unsigned char *bytes, uint64_t element, uint32_t bits)
{
    uint64_t found = 0;
    if (bits == 4) return bytes[element / 2] >> 4 * (element % 2) & 15;
    memcpy(&found, bytes + element * (bits / 8), bits / 8);
    return found;
}

static double value_of(uint64_t bits, const Output *output)
{
    float single;
    double wide;
    uint32_t low = (uint32_t)bits;
    if (output->kind == 'u') return (double)bits;
    if (output->kind == 'i') return (double)((int64_t)(bits << (64 - output->bits)) >> (64 - output->bits));
    if (output->bits == 16) return half_of(low);
    memcpy(&single, &low, 4);
    memcpy(&wide, &bits, 8);
    return output->bits == 32 ? single : wide;
}

static int is_right(uint64_t found, uint64_t expected, const double *bounds, const Output *output)
{
    if (found == expected || (isinf(bounds[0]) && isinf(bounds[1]) && bounds[0] < bounds[1])) return 1;
    if (output->kind != 'f') return !output->is_exact && value_of(found, output) >= bounds[0] && value_of(found, output) <= bounds[1];
    double value = value_of(found, output), wanted = value_of(expected, output);
    if (isnan(value) || isnan(wanted)) return isnan(value) && isnan(wanted);
    if (output->is_copied) return 0;
    /* An infinity stands for the first number beyond the type's range; numbers below the smallest normal one may be flushed. */
    double beyond = output->bits == 16 ? 65536.0 : output->bits == 32 ? ldexp(1, 128) : INFINITY;
    double tiny = ldexp(1, output->bits == 16 ? -14 : output->bits == 32 ? -126 : -1022);
    if (isinf(value) && !isinf(bounds[0])) value = value < 0 ? -beyond : beyond;
    if (value == 0 && fabs(wanted) < tiny) return 1;
    return value >= bounds[0] && value <= bounds[1];
}

static int wrong_in(const Output *output)
{
    const Resource *resource = &RESOURCE[output->resource];
    const unsigned char *all = memory[output->resource].bytes, *found = all + resource->origin;
    uint64_t elements = 1, wrong = 0, outside = 0;
    for (uint32_t d = 0; d < output->rank; d++) elements *= output->sizes[d];
    unsigned char *expected = bytes_of(output->expected, resource->size), *flushed = NULL;
    double *bounds = bytes_of(output->bounds, 16 * elements), *flushed_bounds = NULL;
    if (output->flushed_expected) {
        flushed = bytes_of(output->flushed_expected, resource->size);
        flushed_bounds = bytes_of(output->flushed_bounds, 16 * elements);
    }
    /* Bytes of elements; a packed tensor's padding to its last word may be written as well. */
    unsigned char *covered = calloc(resource->size + 1, 1);
    uint64_t last = 0;
    for (uint64_t e = 0; e < elements; e++) {
        uint64_t index[8] = {0}, at = 0, left = e;
        for (uint32_t d = output->rank; d-- > 0; left /= output->sizes[d]) {
            index[d] = left % output->sizes[d];
            at += index[d] * output->strides[d];
        }
        uint64_t from = at * output->bits / 8, to = ((at + 1) * output->bits + 7) / 8;
        memset(covered + from, 1, to - from);
        if (to > last) last = to;
        uint64_t bits = bits_at(found, at, output->bits);
        if (is_right(bits, bits_at(expected, at, output->bits), bounds + 2 * e, output)) continue;
        if (flushed && is_right(bits, bits_at(flushed, at, output->bits), flushed_bounds + 2 * e, output)) continue;
        if (wrong++ >= MOST_SHOWN) continue;
        printf("%s[", output->name);
        for (uint32_t d = 0; d < output->rank; d++) printf(d ? ", %llu" : "%llu", (unsigned long long)index[d]);
        printf("] is %.9g, expected %.9g, from %.9g to %.9g\n", value_of(bits, output),
               value_of(bits_at(expected, at, output->bits), output), bounds[2 * e], bounds[2 * e + 1]);
    }
    for (uint64_t i = 0; i < resource->size + 2 * resource->origin; i++) {
        int is_inside = i >= resource->origin && i < resource->origin + resource->size;
        if (is_inside && (covered[i - resource->origin] || i - resource->origin >= last)) continue;
        if (all[i] != UNTOUCHED && outside++ < MOST_SHOWN)
            printf("%s: byte %lld is outside its elements and was written\n", output->name, (long long)i - (long long)resource->origin);
    }
    printf("%s: %llu of %llu elements are wrong, %llu bytes outside them were written\n", output->name,
           (unsigned long long)wrong, (unsigned long long)elements, (unsigned long long)outside);
    free(covered), free(expected), free(bounds), free(flushed), free(flushed_bounds);
    return wrong || outside;
}

int main(int count, char **arguments)
{
    setbuf(stdout, NULL);
    printf("%s\n", CASE);
    open_device(count > 1 ? arguments[1] : DEVICE);
    Kernel kernels[DISPATCHES];
    fill_resources();
    for (int i = 0; i < DISPATCHES; i++) {
        printf("compiling %s: %s\n", DISPATCH[i].spirv, DISPATCH[i].what);
        kernels[i] = made_kernel(&DISPATCH[i]);
    }
    VkCommandBuffer commands = recorded(kernels);
    unsigned char *before[OUTPUTS] = {NULL};
    int is_wrong = 0;
    for (int at = 0; at < RUNS; at++) {
        fill_resources();
        run(commands);
        for (int i = 0; i < OUTPUTS; i++) {
            const Memory *now = &memory[OUTPUT[i].resource];
            if (!at) {
                is_wrong |= wrong_in(&OUTPUT[i]);
                before[i] = malloc(now->size);
                memcpy(before[i], now->bytes, now->size);
            } else if (memcmp(before[i], now->bytes, now->size)) {
                printf("run %d: %s differs from the first run\n", at + 1, OUTPUT[i].name);
                is_wrong |= wrong_in(&OUTPUT[i]) | 1;
            }
        }
    }
    printf(is_wrong ? "WRONG\n" : "all outputs are right\n");
    return is_wrong;
}
