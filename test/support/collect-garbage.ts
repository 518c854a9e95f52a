import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** Frees what nothing holds on to, also what a microtask of the caller's did. */
export async function collectGarbage(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 5));
  collect();
}
