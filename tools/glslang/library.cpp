// A C interface to glslang for dml/glslang/library.py. It makes the same calls as `glslangValidator -V [-g] -S comp
// --target-env TARGET FILE`, for the same SPIR-V and messages. (glslang's own C interface preprocesses a shader before it
// parses it, which takes twice as long and puts the preprocessed text into the debug information.) The parts of glslang
// used here are equal in versions 12 to 16.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <pthread.h>

#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>
#include <glslang/build_info.h>

namespace {

struct Target {
    const char* name;
    glslang::EShTargetClientVersion client;
    glslang::EShTargetLanguageVersion spirv;
};

const Target targets[] = {
    {"vulkan1.0", glslang::EShTargetVulkan_1_0, glslang::EShTargetSpv_1_0},
    {"vulkan1.1", glslang::EShTargetVulkan_1_1, glslang::EShTargetSpv_1_3},
    {"vulkan1.2", glslang::EShTargetVulkan_1_2, glslang::EShTargetSpv_1_5},
    {"vulkan1.3", glslang::EShTargetVulkan_1_3, glslang::EShTargetSpv_1_6},
};

const Target* find_target(const char* name)
{
    for (const Target& target : targets)
        if (std::strcmp(target.name, name) == 0)
            return &target;
    return nullptr;
}

// The shader's SPIR-V; empty after an error, which messages describe.
std::vector<unsigned> compile(
    const char* text, const char* file, const Target& target, bool debug, std::string& messages)
{
    // the program uses this memory, so it is declared before
    const auto shader = std::make_unique<glslang::TShader>(EShLangCompute);
    shader->setStringsWithLengthsAndNames(&text, nullptr, &file, 1);
    shader->setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 100);
    shader->setEnvClient(glslang::EShClientVulkan, target.client);
    shader->setEnvTarget(glslang::EShTargetSpv, target.spirv);
    const auto rules = EShMessages(EShMsgSpvRules | EShMsgVulkanRules | (debug ? EShMsgDebugInfo : EShMsgDefault));
    const bool parsed = shader->parse(GetDefaultResources(), 100, false, rules);

    glslang::TProgram program;
    program.addShader(shader.get());
    const bool linked = program.link(rules) && program.mapIO();
    messages = std::string(shader->getInfoLog()) + "\n" + program.getInfoLog();

    std::vector<unsigned> words;
    if (parsed && linked) {
        glslang::SpvOptions options;
        options.generateDebugInfo = debug;
        spv::SpvBuildLogger logger;
        glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), words, &logger, &options);
        messages += "\n" + logger.getAllMessages();
    }
    return words;
}

std::string start()
{
    char version[128] = "";
    if (glslang::InitializeProcess())
        std::snprintf(version, sizeof version, "Glslang Version: %d:%d.%d.%d%s", glslang::GetSpirvGeneratorVersion(),
            GLSLANG_VERSION_MAJOR, GLSLANG_VERSION_MINOR, GLSLANG_VERSION_PATCH, GLSLANG_VERSION_FLAVOR);
    return version;
}

struct Task {
    const char* text;
    const char* file;
    const Target* target;
    bool debug;
    std::vector<unsigned> words;
    std::string messages;
    bool done = false;
};

void* perform(void* argument)
{
    auto* const task = static_cast<Task*>(argument);
    try {
        task->words = compile(task->text, task->file, *task->target, task->debug, task->messages);
        task->done = true;
    } catch (const std::exception&) {
        // (out of memory)
    }
    return nullptr;
}

// glslang recurses once per operator of a chain like a + b + c, and a stack overflow would end the process. This
// thread's stack has room for 70,000 operators, regardless of the caller's stack size.
const size_t stack_bytes = size_t(64) << 20;

bool perform_on_large_stack(Task& task)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    const bool started = pthread_attr_setstacksize(&attributes, stack_bytes) == 0 &&
        pthread_create(&thread, &attributes, perform, &task) == 0;
    pthread_attr_destroy(&attributes);
    return started && pthread_join(thread, nullptr) == 0 && task.done;
}

// Returns a copy that the caller frees; nullptr if out of memory.
template <typename T>
T* copied(const T* from, size_t count)
{
    auto* const to = static_cast<T*>(std::malloc(count * sizeof(T)));
    if (to != nullptr)
        std::memcpy(to, from, count * sizeof(T));
    return to;
}

} // namespace

// Exported by tools/glslang/exports
extern "C" {

// Returns the first line of `glslangValidator --version`; empty if glslang does not start. Call this function first.
const char* dml_glslang_start()
{
    static const std::string version = start(); // (once, even if called from several threads)
    return version.c_str();
}

// Compiles a compute shader. Thread-safe.
//   text, file       the shader, and its name in messages and debug information
//   words, count     receive the SPIR-V; empty after an error, which messages describe
//   messages         receives the compiler's messages; free both with dml_glslang_free
// Returns 0, or 1 if this library cannot compile: for an unknown target, or out of memory.
int dml_glslang_compile(const char* text, const char* file, const char* target, int debug, unsigned** words,
    size_t* count, char** messages)
{
    *words = nullptr;
    *count = 0;
    *messages = nullptr;
    Task task;
    task.text = text;
    task.file = file;
    task.target = find_target(target);
    task.debug = debug != 0;
    if (task.target == nullptr || !perform_on_large_stack(task))
        return 1;
    *words = copied(task.words.data(), task.words.size());
    *count = task.words.size();
    *messages = copied(task.messages.c_str(), task.messages.size() + 1);
    return (*words == nullptr && *count > 0) || *messages == nullptr;
}

void dml_glslang_free(void* memory)
{
    std::free(memory);
}

} // extern "C"
