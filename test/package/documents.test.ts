import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { limitProfiles } from "sessile/limits";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { limitsPage, limitsPath } from "../../scripts/limits-page.mjs";
import { layers, sessionChapters } from "../support/layers.js";

const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** Text of a page without code: fenced blocks and spans in backquotes. */
const prose = (markdown: string): string =>
  markdown.replaceAll(/^( *)```[\s\S]*?^\1```/gm, "").replaceAll(/`[^`\n]*`/g, "");

/** Targets of links and images. */
function linksOf(markdown: string): readonly string[] {
  const text = prose(markdown);
  const inline = [...text.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g)].map(([, target = ""]) => target);
  const references = [...text.matchAll(/^ *\[[^\]]+\]: *<?([^\s>]+)/gm)].map(([, target = ""]) => target);
  const html = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, target = ""]) => target);
  return [...inline, ...references, ...html];
}

/** Fragments of a page's headings, as GitHub and npm make them. */
function fragmentsOf(markdown: string): ReadonlySet<string> {
  const fragments = new Set<string>();
  const withoutFences = markdown.replaceAll(/^( *)```[\s\S]*?^\1```/gm, "");
  for (const [, heading = ""] of withoutFences.matchAll(/^#{1,6} +(.+?)(?: +#+)?$/gm)) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = words.replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "").replaceAll(" ", "-");
    let fragment = slug;
    for (let n = 1; fragments.has(fragment); n += 1) fragment = `${slug}-${n}`;
    fragments.add(fragment);
  }
  return fragments;
}

/** The links of a page that lead nowhere: outside of the files, or to no heading. */
function brokenLinks(path: string, markdown: string, page: (path: string) => string | undefined) {
  return linksOf(markdown).flatMap((target) => {
    if (/^[a-z][a-z+.-]*:/i.test(target)) return [];
    const [file = "", fragment] = target.split("#");
    const to = file === "" ? path : posix.join(posix.dirname(path), decodeURI(file));
    const text = to === path ? markdown : page(to);
    if (text === undefined) return [`${path}: ${target} is not in the package`];
    if (fragment === undefined || fragmentsOf(text).has(fragment)) return [];
    return [`${path}: ${target} names no heading`];
  });
}

describe("the packed package", () => {
  const [{ files }]: [{ files: { path: string }[] }] = JSON.parse(
    execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  );
  const packed = new Set(files.map(({ path }) => path));
  const page = (path: string) => (packed.has(path) && existsSync(join(root, path)) ? read(path) : undefined);

  it("has the documents that a user reads", () => {
    const pages = ["guide", "reference"].flatMap((folder) =>
      readdirSync(join(root, "docs", folder)).map((name) => `docs/${folder}/${name}`),
    );
    const all = ["README.md", "CHANGELOG.md", "LICENSE", "SECURITY.md", ...pages];
    expect(all.length).toBeGreaterThan(15);
    expect(all.filter((path) => !packed.has(path))).toEqual([]);
    const { files: listed, scripts } = JSON.parse(read("package.json"));
    expect(listed).toEqual(expect.arrayContaining(["dist", "llms.txt", "llms-full.txt"]));
    expect([scripts.prepack, scripts.docs]).toEqual([
      "node scripts/llms.mjs",
      expect.stringMatching(/^node scripts\/llms\.mjs && /),
    ]);
  });

  it("has an index of each folder of documents, with a row for each page", () => {
    for (const folder of ["docs/guide", "docs/reference"]) {
      const index = linksOf(read(`${folder}/README.md`));
      const pages = readdirSync(join(root, folder)).filter((name) => name !== "README.md");
      expect(pages.filter((name) => !index.includes(name))).toEqual([]);
    }
  });

  it("has every file and heading that a relative link of its documents names", () => {
    const documents = [...packed].filter((path) => path.endsWith(".md"));
    expect(documents.length).toBeGreaterThan(15);
    expect(documents.flatMap((path) => linksOf(read(path))).length).toBeGreaterThan(30);
    expect(documents.flatMap((path) => brokenLinks(path, read(path), page))).toEqual([]);
  });
});

describe("the documents of the repository", () => {
  it("link to files and headings that exist", () => {
    const folders = ["", "docs", "docs/contributing", "docs/decisions", "examples"];
    const paths = folders.flatMap((folder) =>
      readdirSync(join(root, folder)).flatMap((name) =>
        name.endsWith(".md") ? posix.join(folder, name) : [],
      ),
    );
    expect(paths.length).toBeGreaterThan(30);
    const page = (path: string) => {
      if (!existsSync(join(root, path))) return undefined;
      return path.endsWith(".md") ? read(path) : "";
    };
    expect(paths.flatMap((path) => brokenLinks(path, read(path), page))).toEqual([]);
  });
});

describe("the documents for contributors", () => {
  it("have at most 30 decisions, numbered in order, each with its title in the index", () => {
    const names = readdirSync(join(root, "docs/decisions")).filter((name) => name !== "README.md");
    expect(names.length).toBeLessThanOrEqual(30);
    const index = read("docs/decisions/README.md");
    const rows = [...names].sort().map((name, at) => {
      const number = `${at + 1}`;
      expect(name.startsWith(`${number.padStart(3, "0")}-`)).toBe(true);
      const [heading = ""] = read(`docs/decisions/${name}`).split("\n");
      expect(heading.startsWith(`# ${number}. `)).toBe(true);
      return `[${heading.slice(2)}](${name})`;
    });
    expect(rows.filter((row) => !index.includes(row))).toEqual([]);
  });

  it("have the way of the core on a page of at most 2,500 words", () => {
    expect(read("docs/contributing/core.md").split(/\s+/).length).toBeLessThanOrEqual(2500);
  });

  it("have the architecture in one page, with the layers and chapters that the sources keep", () => {
    const page = read("docs/contributing/architecture.md");
    expect(Buffer.byteLength(page)).toBeLessThanOrEqual(8192);
    const charted = [...page.matchAll(/^\| (\d) \| ([a-z0-9/-]+) \|/gm)].map(([, layer, name = ""]) => [
      name,
      Number(layer),
    ]);
    const existing = Object.entries(layers).filter(([name]) => existsSync(join(root, "src", name)));
    expect(Object.fromEntries(charted)).toEqual(Object.fromEntries(existing));
    const chapters = [...page.matchAll(/^\| `src\/session\/([a-z-]+)`/gm)].map(([, name]) => name);
    expect(chapters).toEqual(sessionChapters);
  });

  it("name paths that exist", () => {
    const names = ["docs/contributing", "docs/decisions"].flatMap((folder) =>
      readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
    );
    const named = ["CONTRIBUTING.md", ...names].flatMap((path) =>
      [...read(path).matchAll(/`((?:src|test|scripts|docs|examples|bench|\.ci)\/[^`\s]+)`/g)].flatMap(
        ([, to]) => (to === undefined || /NAME|…/.test(to) ? [] : { path, to }),
      ),
    );
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter(({ to }) => !existsSync(join(root, to)))).toEqual([]);
  });
});

describe("brokenLinks", () => {
  const pages: Readonly<Record<string, string>> = {
    "docs/a.md": "# The `a` page\n\n## Why, and how\n\n## Why, and how\n",
    LICENSE: "",
  };
  const broken = (markdown: string) =>
    brokenLinks("docs/b.md", `# B\n\n${markdown}\n`, (path) => pages[path]);

  it.each([
    "[a](a.md)",
    "[a](a.md#the-a-page)",
    "[a](a.md#why-and-how-1)",
    "[own](#b)",
    "[up](../LICENSE)",
    "[web](https://example.org/x.md#y)",
    "`[code](none.md)`",
    "```md\n[code](none.md)\n```",
  ])("accepts %j", (markdown) => {
    expect(broken(markdown)).toEqual([]);
  });

  it.each([
    ["[a](c.md)", "docs/b.md: c.md is not in the package"],
    ["![a](a.png)", "docs/b.md: a.png is not in the package"],
    ["[a]: ../c.md", "docs/b.md: ../c.md is not in the package"],
    ['<a href="c.md">c</a>', "docs/b.md: c.md is not in the package"],
    ["[a](a.md#why)", "docs/b.md: a.md#why names no heading"],
    ["[a](a.md#why-and-how-2)", "docs/b.md: a.md#why-and-how-2 names no heading"],
    ["[own](#c)", "docs/b.md: #c names no heading"],
  ])("finds %j", (markdown, problem) => {
    expect(broken(markdown)).toEqual([problem]);
  });
});

describe("docs/reference/limits.md", () => {
  it("is up to date (npm run docs:tables), with a row for each limit", () => {
    const page = limitsPage();
    expect(read(limitsPath) === page).toBe(true);
    const rows = Object.values(limitProfiles).flatMap((profile) => profile.rows);
    expect(rows.length).toBeGreaterThan(50);
    expect(page.match(/^\| [a-z][A-Za-z]+ \|.*, \d{4}-\d\d-\d\d \|/gm)?.length).toBe(rows.length);
    expect(page).not.toContain("undefined");
  });
});

describe("llms.txt and llms-full.txt", () => {
  const directory = mkdtempSync(join(tmpdir(), "sessile-llms-"));
  let index = "";
  let full = "";
  beforeAll(() => {
    execFileSync(process.execPath, [join(root, "scripts/llms.mjs"), directory]);
    index = readFileSync(join(directory, "llms.txt"), "utf8");
    full = readFileSync(join(directory, "llms-full.txt"), "utf8");
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const pages = ["guide", "reference"].flatMap((folder) =>
    readdirSync(join(root, "docs", folder)).map((name) => `docs/${folder}/${name}`),
  );
  const page = (path: string) =>
    statSync(join(root, path), { throwIfNoEntry: false })?.isFile()
      ? read(path)
      : path.startsWith("llms")
        ? ""
        : undefined;

  it("are an index of every page: title, summary and links with a sentence each", () => {
    expect(index).toMatch(/^# Sessile\n\n> [A-Z].+\n\n/);
    expect([...index.matchAll(/^## (.+)$/gm)].map(([, title]) => title)).toEqual([
      ...["Guide", "Reference", "Optional"],
    ]);
    const links = [...index.matchAll(/^- \[.+\]\((.+?)\): \S.+$/gm)].map(([, path]) => path);
    expect(links).toEqual(expect.arrayContaining(["README.md", "llms-full.txt", ...pages]));
    expect(links.length).toBe(pages.length + 4);
    expect(brokenLinks("llms.txt", index, page)).toEqual([]);
  });

  it("are the text of README, guide and reference, each page once, with links from the root", () => {
    const marks = [...full.matchAll(/^<!-- (\S+\.md) -->$/gm)].map(([, path]) => path);
    expect(marks[0]).toBe("README.md");
    expect([...marks].sort()).toEqual(["README.md", ...pages].sort());
    for (const path of ["README.md", ...pages]) {
      const lines = read(path)
        .split("\n")
        .filter((line) => !line.includes("]("));
      expect(lines.filter((line) => !full.includes(line))).toEqual([]);
    }
    expect(brokenLinks("llms-full.txt", full, page)).toEqual([]);
  });
});
