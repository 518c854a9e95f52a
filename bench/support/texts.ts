import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/entries.mjs";

/** A text that the estimators are measured on. None of it was looked at when ours was tuned. */
export interface Sample {
  readonly kind: string;
  readonly text: string;
}

const maxLength = 60_000;
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const joined = (paths: readonly string[]): string => paths.map(read).join("\n");

/** The files of a folder with this ending, in order. */
const filesOf = (folder: string, ending: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => `${folder}/${name}`);

/** The file of this name in each installed package that has one, in order. */
const ofPackages = (name: string): readonly string[] =>
  readdirSync(join(root, "node_modules"))
    .sort()
    .map((folder) => `node_modules/${folder}/${name}`)
    .filter((path) => existsSync(join(root, path)));

/** Digests of 0, 1, 2 and so on under a seed: bytes that no model has seen. */
function digests(seed: string, count: number): readonly Buffer[] {
  return Array.from({ length: count }, (_, at) => createHash("sha256").update(`${seed} ${at}`).digest());
}

/** Paragraphs of Markdown that are sentences: no code, tables, lists, headings or links. */
function proseOf(markdown: string): string {
  return markdown
    .replace(/^```.*?^```/gms, "")
    .split("\n")
    .filter((line) => /^[A-Z][^|<>[\]`{}]{60,}$/.test(line))
    .join("\n");
}

/** The messages of TypeScript's compiler in a language, as it ships them. */
const messages = (language: string): string =>
  Object.values(JSON.parse(read(`node_modules/typescript/lib/${language}/diagnosticMessages.generated.json`)))
    .filter((message) => typeof message === "string")
    .join("\n");

/** What `find -ls` says of a folder; inodes and dates are made up, since each machine has its own. */
function listing(folder: string): string {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .sort()
    .map((path, at) => {
      const entry = statSync(join(root, folder, path));
      const inode = String(digests("inode", 1)[0]?.readUInt32LE() ?? 0).slice(0, 6);
      const blocks = String(Math.ceil(entry.size / 4096) * 4).padStart(6);
      const mode = entry.isDirectory() ? "drwxr-xr-x" : "-rw-r--r--";
      const size = String(entry.size).padStart(8);
      return `   ${Number(inode) + at * 3} ${blocks} ${mode}   1 root     root     ${size} Oct 26  1985 ./${folder}/${path}`;
    })
    .join("\n");
}

/** Entries as this library and others write them: ids and digests more than words. */
function hashes(): string {
  return digests("hashes", 300)
    .map((bytes, at) => {
      const hex = bytes.toString("hex");
      return JSON.stringify({
        id: hex.slice(0, 8),
        parentId: hex.slice(8, 16),
        blob: `sha256:${hex}`,
        size: at * 997,
        integrity: `sha512-${bytes.toString("base64")}`,
      });
    })
    .join("\n");
}

function uuids(): string {
  return digests("uuids", 1500)
    .map((bytes) => bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, "$1-$2-$3-$4-$5"))
    .join("\n");
}

/** One text of each kind, at most 60,000 characters: files of installed packages, and noise made of a seed. */
export function heldOutTexts(): readonly Sample[] {
  const samples: readonly Sample[] = [
    { kind: "English prose", text: proseOf(joined(ofPackages("README.md"))) },
    {
      kind: "license prose",
      text: joined([
        "node_modules/@biomejs/biome/LICENSE-APACHE",
        "node_modules/lightningcss/LICENSE",
        "node_modules/argparse/LICENSE",
      ]),
    },
    { kind: "Markdown", text: joined(["node_modules/commander/Readme.md", "node_modules/fflate/README.md"]) },
    { kind: "TypeScript", text: read("node_modules/zod/src/v4/core/schemas.ts") },
    {
      kind: "JavaScript",
      text: joined(
        ["classes", "functions", "ranges"].flatMap((folder) =>
          filesOf(`node_modules/semver/${folder}`, ".js"),
        ),
      ),
    },
    { kind: "minified JavaScript", text: read("node_modules/markdown-it/dist/markdown-it.min.js") },
    { kind: "Python", text: joined(filesOf("bench/node_modules/koffi/lib/native/base", ".py")) },
    {
      kind: "compact JSON",
      text: ofPackages("package.json")
        .map((path) => JSON.stringify(JSON.parse(read(path))))
        .join("\n"),
    },
    { kind: "hash-heavy JSON", text: hashes() },
    { kind: "package lock", text: read("bench/package-lock.json") },
    { kind: "find -ls", text: listing("node_modules/zod/src") },
    { kind: "Chinese", text: messages("zh-cn") },
    { kind: "Japanese", text: messages("ja") },
    { kind: "Korean", text: messages("ko") },
    { kind: "Russian", text: messages("ru") },
    { kind: "German", text: messages("de") },
    { kind: "French", text: messages("fr") },
    { kind: "base64", text: Buffer.concat(digests("base64", 1400)).toString("base64") },
    { kind: "UUIDs", text: uuids() },
    {
      kind: "deep indentation",
      text: JSON.stringify(
        JSON.parse(read("node_modules/@biomejs/biome/configuration_schema.json")),
        null,
        8,
      ),
    },
  ];
  return samples.map(({ kind, text }) => ({ kind, text: text.slice(0, maxLength) }));
}
