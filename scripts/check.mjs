// Everything but the tests that has to hold: one line per step, all steps even after a failure.
import { close, run } from "./run.mjs";

/**
 * `needs` names a step without which this one would look at an old or a missing build.
 *
 * @type {readonly { name: string, command: readonly string[], needs?: string }[]}
 */
const steps = [
  { name: "types", command: ["tsc", "-p", "tsconfig.json"] },
  { name: "types of the core, without Node", command: ["tsc", "-p", "tsconfig.core.json"] },
  {
    name: "Claude Agent SDK, without its program",
    command: ["npm", "ci", "--prefix", "test/agent-sdk", "--ignore-scripts", "--omit=optional"],
  },
  {
    name: "types against the Claude Agent SDK",
    command: ["tsc", "-p", "test/agent-sdk"],
    needs: "Claude Agent SDK, without its program",
  },
  { name: "lint and format", command: ["biome", "ci", "--colors=off", "--error-on-warnings", "."] },
  { name: "layers", command: ["vitest", "run", "--project", "unit", "test/package/layers.test.ts"] },
  { name: "unused code and dependencies", command: ["knip"] },
  { name: "build", command: ["tsup"] },
  { name: "publint", command: ["publint", "--strict"], needs: "build" },
  {
    name: "types as a user gets them",
    command: ["attw", "--pack", ".", "--profile", "esm-only"],
    needs: "build",
  },
  { name: "sizes", command: ["size-limit"], needs: "build" },
];

/** @type {Set<string>} */
const failed = new Set();
for (const { name, command, needs } of steps) {
  if (needs && failed.has(needs)) {
    failed.add(name);
    console.log(`fail       - ${name}: needs the ${needs}`);
    continue;
  }
  const { ok, output, seconds } = await run(command, 180_000);
  console.log(`${ok ? "ok  " : "fail"} ${seconds.padStart(5)} s ${name}`);
  if (ok) continue;
  failed.add(name);
  console.log(`\n$ ${command.join(" ")}\n${output.trim()}\n`);
}
close(steps.length - failed.size, failed.size);
