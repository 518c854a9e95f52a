import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { limitProfiles } from "sessile/limits";
import { root } from "./entries.mjs";

/** Makes docs/reference/limits.md from the rows of `sessile/limits`: `npm run docs:tables`. */

/** The generated file. */
export const limitsPath = "docs/reference/limits.md";

/** @typedef {import("sessile/limits").LimitRow} LimitRow */

/** @type {Readonly<Record<string, string>>} */
const units = {
  decodedBytes: "bytes",
  base64Bytes: "bytes as base64",
  bodyBytes: "bytes of the body",
  pixels: "px",
  count: "",
  pages: "pages",
  characters: "characters",
  ratio: "to 1",
};

/** @param {LimitRow} row */
function maximum({ value, unit }) {
  if (value === false) return "none";
  if (typeof value !== "number") return value.map((type) => `\`${type}\``).join(", ");
  const number = value.toLocaleString("en-US");
  return `${number} ${units[unit]}`.trim();
}

/** @param {LimitRow} row */
function condition({ when }) {
  if (when === undefined) return "";
  const { models, transport, contextWindowBelow, imagesOver, withDocuments, inToolResult } = when;
  return [
    ...(models ? [models.join(" or ")] : []),
    ...(transport ? [transport.join(" or ")] : []),
    ...(contextWindowBelow ? [`a window below ${contextWindowBelow.toLocaleString("en-US")} tokens`] : []),
    ...(imagesOver === undefined
      ? []
      : [`more than ${imagesOver} images${withDocuments ? " and documents" : ""}`]),
    ...(inToolResult ? ["in a tool result"] : []),
  ].join(", ");
}

/** @param {string} source */
const link = (source) => (/^https?:/.test(source) ? `<${source}>` : source);

/** The page. */
export function limitsPage() {
  const profiles = Object.entries(limitProfiles).map(([key, { transports, rows }]) => {
    const cells = rows.map((row) => [
      row.rule,
      maximum(row),
      row.scope,
      condition(row),
      `${row.evidence}, ${row.asOf}`,
      [link(row.source), ...(row.note === undefined ? [] : [row.note])].join("; ").replaceAll("|", "\\|"),
    ]);
    const table = [
      ["limit", "at most", "in each", "if", "evidence", "source"],
      Array(6).fill("---"),
      ...cells,
    ];
    const lines = table.map((row) => `| ${row.join(" | ")} |`.replace(/ {2,}/g, " "));
    return `## ${key}\n\nTransports: ${transports.join(", ")}.\n\n${lines.join("\n")}\n`;
  });
  return `${head}\n${profiles.join("\n")}`;
}

const head = `# Limits

The rows of \`limitProfiles\` (\`sessile/limits\`), made by \`npm run docs:tables\`: do not edit. \`checkLimits\` compares attachments with them, and
\`project\` keeps them. A limit without a row is unknown, not unlimited. The date is that of the reading of the source.
`;

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const path = join(root, limitsPath);
  const page = limitsPage();
  const changed = !existsSync(path) || readFileSync(path, "utf8") !== page;
  writeFileSync(path, page);
  console.log(`${limitsPath} ${changed ? "is written anew" : "is up to date"}`);
}
