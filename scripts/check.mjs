// Everything but the tests that has to hold: one line per step as it ends, as many at a time as there are processors, all steps even after a failure.
import { close, run, together } from "./run.mjs";

/** The newer compiler takes a third of the time; `tsc` may be either of the two. */
const tsc = ["node", "node_modules/typescript7/bin/tsc"];

/**
 * `needs` names an earlier step without which this one would look at an old or a missing build.
 *
 * @type {readonly { name: string, command: readonly string[], needs?: string }[]}
 */
const steps = [
  // The longest one first, since what needs it waits.
  { name: "build", command: ["npm", "run", "build"] },
  {
    name: "Claude Agent SDK, without its program",
    command: ["node", "scripts/install.mjs", "test/agent-sdk"],
  },
  { name: "types", command: [...tsc, "-p", "tsconfig.json"] },
  { name: "types of the core, without Node", command: [...tsc, "-p", "tsconfig.core.json"] },
  {
    name: "types against the Claude Agent SDK",
    command: [...tsc, "-p", "test/agent-sdk"],
    needs: "Claude Agent SDK, without its program",
  },
  { name: "lint and format", command: ["biome", "ci", "--colors=off", "--error-on-warnings", "."] },
  { name: "generated from the table of modules", command: ["node", "scripts/module-table.mjs", "--check"] },
  { name: "layers", command: ["vitest", "run", "--project", "package", "test/package/layers.test.ts"] },
  { name: "sizes of operations", command: ["tsx", "scripts/operation-size.mjs"] },
  { name: "unused code and dependencies", command: ["knip"] },
  { name: "publint", command: ["publint", "--strict"], needs: "build" },
  {
    name: "types as a user gets them",
    command: ["attw", "--pack", ".", "--profile", "esm-only"],
    needs: "build",
  },
  {
    name: "types in a program without Node's",
    // With the version that most users have.
    command: ["node", "node_modules/typescript/bin/tsc", "-p", "test/consumer"],
    needs: "build",
  },
  { name: "sizes", command: ["size-limit"], needs: "build" },
];

/** @type {Map<string, Promise<boolean>>} */
const results = new Map();

/** @param {typeof steps[number]} step */
async function check({ name, command, needs }) {
  if (needs && !(await results.get(needs))) {
    console.log(`fail       - ${name}: needs the ${needs}`);
    return false;
  }
  const { ok, output, seconds } = await run(command, 600_000);
  console.log(`${ok ? "ok  " : "fail"} ${seconds.padStart(5)} s ${name}`);
  if (!ok) console.log(`\n$ ${command.join(" ")}\n${output.trim()}\n`);
  return ok;
}

await together(steps, async (step) => {
  const result = check(step);
  results.set(step.name, result);
  await result;
});
const all = await Promise.all(results.values());
close(all.filter((ok) => ok).length, all.filter((ok) => !ok).length);
