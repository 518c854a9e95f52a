import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./entries.mjs";

/**
 * Makes llms.txt, an index of the documentation (llmstxt.org), and llms-full.txt, its text: `node scripts/llms.mjs [DIRECTORY]`.
 * `npm run docs` and `npm pack` run it.
 *
 * @typedef {object} Page
 * @property {string} path
 * @property {string} title
 * @property {string} summary its row in the table of the folder's README, or the first sentence below its title
 * @property {string} text
 */

/**
 * @param {string} path
 * @param {string} [purpose]
 */
function readPage(path, purpose) {
  const text = readFileSync(join(root, path), "utf8");
  const [, title = path, body = ""] = /^# (.+)\n([\s\S]*)$/.exec(text) ?? [];
  const paragraph = body.split(/\n{2,}/).find((block) => /^[A-Z`[*_"]/.test(block.trim())) ?? "";
  const plain = paragraph
    .trim()
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  return {
    path,
    title,
    summary: purpose ?? /^.*?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, ".") ?? plain,
    text,
  };
}

/**
 * The pages of a folder of docs: first its README, then the pages in the order in which the README links to them.
 *
 * @param {string} folder
 * @returns {readonly Page[]}
 */
function pagesOf(folder) {
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith(".md"));
  const index = names.includes("README.md") ? readFileSync(join(root, folder, "README.md"), "utf8") : "";
  /** @param {string} name */
  const rank = (name) => {
    const at = index.indexOf(`](${name}`);
    if (name === "README.md") return -1;
    return at === -1 ? Number.POSITIVE_INFINITY : at;
  };
  return names
    .sort()
    .sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)))
    .map((name) => {
      const row = index.split("\n").find((line) => line.startsWith("| ") && line.includes(`](${name})`));
      return readPage(`${folder}/${name}`, row?.split("|")[2]?.trim());
    });
}

const readme = () => readPage("README.md");
const sections = () => [
  { title: "Guide", pages: pagesOf("docs/guide") },
  { title: "Reference", pages: pagesOf("docs/reference") },
];

/** The index: title, summary, and a link with a sentence for each page. */
export function llmsIndex() {
  const { title, summary } = readme();
  const lists = [
    ...sections(),
    { title: "Optional", pages: [readPage("SECURITY.md"), readPage("CHANGELOG.md")] },
  ];
  const blocks = lists.map(({ title, pages }) => {
    const links = pages.map((page) => `- [${page.title}](${page.path}): ${page.summary}`);
    return `## ${title}\n\n${links.join("\n")}\n`;
  });
  return `# ${title}\n\n> ${summary}\n\n- [README](README.md): installation, first program, modules.\n- [llms-full.txt](llms-full.txt): README, guide and reference in one file.\n\n${blocks.join("\n")}`;
}

/** README, guide and reference in one text, with links relative to the root of the package. */
export function llmsFull() {
  const pages = [readme(), ...sections().flatMap((section) => section.pages)];
  return pages
    .map(({ path, text }) => `<!-- ${path} -->\n\n${withRootLinks(path, text).trim()}\n`)
    .join("\n\n");
}

/**
 * @param {string} path
 * @param {string} text
 */
function withRootLinks(path, text) {
  /** @type {string[]} */
  const lines = [];
  let fenced = false;
  for (const line of text.split("\n")) {
    if (/^\s*```/.test(line)) fenced = !fenced;
    const moved = line.replaceAll(/\]\((?![a-z]+:|#)([^)\s]+)\)/g, (_, target) => {
      return `](${posix.join(posix.dirname(path), target)})`;
    });
    lines.push(fenced ? line : moved);
  }
  return lines.join("\n");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const directory = process.argv[2] ?? root;
  writeFileSync(join(directory, "llms.txt"), llmsIndex());
  writeFileSync(join(directory, "llms-full.txt"), llmsFull());
}
