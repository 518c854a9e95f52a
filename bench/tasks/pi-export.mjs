// pi's page of a session: node tasks/pi-export.mjs view INPUT
import { timeProgram } from "./program.mjs";

/** @type {{ path: string, out: string }} */
const { path, out } = JSON.parse(process.argv[3] ?? "{}");
const index = import.meta.resolve("@mariozechner/pi-coding-agent");
const module = new URL("core/export-html/index.js", index).href;
const script = `import { exportFromFile } from ${JSON.stringify(module)};
console.log(await exportFromFile(...${JSON.stringify([path, out])}));`;
const words = ["--input-type=module", "--eval", script];
await timeProgram(process.execPath, words, (output) => output.includes(out));
