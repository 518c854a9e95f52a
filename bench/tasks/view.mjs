// The page of a session: node tasks/view.mjs view INPUT
import { timeProgram } from "./program.mjs";

/** @type {{ program: string, path: string, out: string }} */
const { program, path, out } = JSON.parse(process.argv[3] ?? "{}");
await timeProgram(process.execPath, [program, "view", path, "-o", out], (output) => output.includes(out));
