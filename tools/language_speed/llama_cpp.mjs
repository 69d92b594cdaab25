// Generate tokens with llama.cpp and print JSON: node llama_cpp.mjs MODEL.gguf PROMPT TOKENS BACKEND
// Run this from a folder whose node_modules has node-llama-cpp.
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const require = createRequire(`${process.cwd()}/`);
const {getLlama} = await import(pathToFileURL(require.resolve("node-llama-cpp")).href);
const [model_path, prompt, tokens, backend] = process.argv.slice(2);

const cpu = () => {
    const {user, system} = process.cpuUsage();
    return (user + system) / 1e6;
};
const peak = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;

const gpu = backend === "cpu" ? false : backend;
const llama = await getLlama({gpu, build: "never", vramPadding: 0, logLevel: "error"});
if (llama.gpu !== gpu) throw new Error(`llama.cpp runs on ${llama.gpu || "cpu"}, not on ${backend}`);
const model = await llama.loadModel({modelPath: model_path, gpuLayers: gpu ? 999 : 0, ignoreMemorySafetyChecks: true});

// Generates once; returns the seconds of the prompt and of each token.
async function generate(count) {
    const context = await model.createContext({contextSize: Number(prompt) + Number(tokens) + 8, batchSize: Number(prompt), ignoreMemorySafetyChecks: true});
    const sequence = context.getSequence();
    const ids = Array.from({length: Number(prompt)}, (_, at) => 300 + ((at * 7919) % 1000));
    const start = [cpu(), performance.now()];
    const steps = [];
    for await (const token of sequence.evaluate(ids, {temperature: 0, yieldEogToken: true})) {
        steps.push([cpu(), performance.now()]);
        if (steps.length > count) break;
    }
    await context.dispose();
    const between = (a, b) => ({cpu: b[0] - a[0], wall: (b[1] - a[1]) / 1e3});
    const all = between(steps[0], steps.at(-1));
    return {prompt: between(start, steps[0]), token: {cpu: all.cpu / (steps.length - 1), wall: all.wall / (steps.length - 1)}};
}

await generate(2);
console.log(JSON.stringify({...(await generate(Number(tokens))), peak: peak()}));
process.exit(0);
