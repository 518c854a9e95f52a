import * as nodeModule from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const installed = new URL("../node_modules/", import.meta.url);

/**
 * The parts of pi that keep sessions and plan compactions, without its terminal interface and its clients of providers,
 * which no session needs and which take 80 MB and a second to load.
 *
 * @param {string} version one of `0.73.1` and `1.6.0`; the second one needs Node 22.15 or newer
 */
export function piModules(version) {
  const core = version === "0.73.1" ? old() : current();
  /** @param {string} file */
  const load = (file) => import(new URL(file, core).href);
  return {
    /** @returns {Promise<typeof import("@mariozechner/pi-coding-agent")>} */
    sessions: () => load("session-manager.js"),
    /** @returns {Promise<any>} */
    compaction: async () => ({
      ...(await load("compaction/compaction.js")),
      ...(await load("compaction/utils.js")),
    }),
    /** @returns {Promise<any>} of 1.6.0 */
    anthropic: () => import(new URL("@earendil-works/pi-ai/dist/api/anthropic-messages.js", installed).href),
  };
}

function old() {
  const index = fileURLToPath(import.meta.resolve("@mariozechner/pi-coding-agent"));
  return pathToFileURL(join(dirname(index), "core/"));
}

/**
 * Its clients of providers are not installed (see the overrides of package.json), so that of pi-ai the files without them
 * stand for the whole.
 */
function current() {
  const files = ["transcript", "uuid", "text", "retry"];
  const used = files.map((file) => {
    const url = new URL(`@earendil-works/pi-ai/dist/utils/${file}.js`, installed);
    return `export * from ${JSON.stringify(url.href)};`;
  });
  const names = ["createTypedMetrics", "createTypedSpanStarter", "defineTelemetrySchema"];
  const constants = ["NOOP_TELEMETRY_CONTEXT", "NOOP_TELEMETRY_METRICS"];
  const telemetry = [...names, ...constants].map((name) => `export const ${name} = () => ({});`).join("\n");
  /** @type {Readonly<Record<string, string>>} */
  const sources = {
    "@earendil-works/pi-ai": used.join("\n"),
    "@earendil-works/pi-ai/compat": "export const completeSimple = undefined;",
    // A client that a caller gives takes the place of this one.
    "@anthropic-ai/sdk": "export default class { static APIError = class extends Error {}; }",
    "@earendil-works/pi-telemetry": telemetry,
    "partial-json": "export const parse = JSON.parse;",
  };
  nodeModule.registerHooks({
    resolve(specifier, context, next) {
      const source = sources[specifier];
      if (source === undefined) return next(specifier, context);
      return { url: `data:text/javascript,${encodeURIComponent(source)}`, shortCircuit: true };
    },
  });
  return new URL("pi-1.6/dist/core/", installed);
}
