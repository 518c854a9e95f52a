import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { entries, root } from "../../scripts/entries.mjs";
import { examplesOf, promisesOf, typeProblems } from "../support/doc-examples.js";
import { frameworkPages, programOf } from "../support/guide-page.js";
import { readSources } from "../support/sources.js";

// The pages of the guide are programs of their own: test/docs/guide.test.ts runs them.
const guide = readdirSync(join(root, "docs/guide"))
  .filter((name) => name !== "README.md" && !frameworkPages.includes(name))
  .map((name) => `docs/guide/${name}`);
const documents = ["README.md", "docs/reference/errors.md", "docs/reference/modules.md"].map((path) => ({
  path,
  text: readFileSync(join(root, path), "utf8"),
}));
const examples = [...readSources(), ...documents].flatMap(({ path, text }) => examplesOf(path, text));

/** What examples speak of without making it, by name. */
const given: Readonly<Record<string, string>> = {
  session: 'import("sessile").Session',
  sessions: 'import("sessile").SessionStore',
  backend: 'import("sessile").SessionBackend',
  blobBackend: 'import("sessile").BlobBackend',
  blobs: 'import("sessile").BlobStore',
  entry: 'import("sessile").SessionEntry',
  message: 'import("sessile").UserMessage',
  screenshot: 'import("sessile").StoredResource',
  request: "Request",
  model: "string",
  bytes: "Uint8Array",
  body: "Uint8Array",
  aws: 'import("aws4fetch").AwsClient',
  container: 'import("sessile/azure").AzureContainer',
  ctx: '{ readonly storage: import("sessile/sqlite").DurableObjectSql }',
  database: 'import("sessile/sqlite").SqliteDatabase',
  env: '{ readonly BLOBS: import("sessile/r2").R2BucketBinding }',
  libsql: 'import("sessile/sqlite").LibsqlClient',
  Pool: 'typeof import("pg").Pool',
  pool: 'import("mysql2/promise").Pool',
  ring: 'import("sessile/tether").FrameRing',
  headerLine: "string",
  error: "unknown",
  generate: 'import("sessile/compaction").Generate',
  json: "unknown",
  stop: "AbortController",
  tools: 'import("@anthropic-ai/sdk").default.Tool[]',
  runTool: '(call: import("sessile").ToolCall) => Promise<string>',
};

/** The official client that an example speaks to, by what it asks of it. */
const clients: readonly (readonly [asked: RegExp, type: string])[] = [
  [/\bclient\.messages\b/, 'import("@anthropic-ai/sdk").default'],
  [/\bclient\.(?:chat|responses)\b/, 'import("openai").default'],
  [/\bclient\.(?:models|interactions)\b/, 'import("@google/genai").GoogleGenAI'],
  [/\bclient\.send\b/, 'import("@aws-sdk/client-bedrock-runtime").BedrockRuntimeClient'],
];

const clientOf = (code: string) => clients.find(([asked]) => asked.test(code))?.[1] ?? "unknown";

const modules = await Promise.all(
  entries.map(async ({ specifier, source }) => ({
    specifier,
    names: Object.keys(await import(join(root, source))),
  })),
);

/** The names that a piece of code declares, and those it refers to. */
function namesIn(code: string): {
  readonly declared: ReadonlySet<string>;
  readonly used: ReadonlySet<string>;
} {
  const declared = new Set<string>();
  const used = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) {
      const { parent } = node;
      const isName = "name" in parent && parent.name === node;
      if (
        isName &&
        (ts.isVariableDeclaration(parent) || ts.isBindingElement(parent) || ts.isParameter(parent))
      ) {
        declared.add(node.text);
      } else if (ts.isImportSpecifier(parent) || ts.isNamespaceImport(parent)) {
        declared.add(node.text);
      } else if (!isName || ts.isShorthandPropertyAssignment(parent)) {
        used.add(node.text);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("example.ts", code, ts.ScriptTarget.ES2023, true));
  return { declared, used };
}

/** The example as a module: what it leaves out is imported or declared. */
function moduleOf(code: string): string {
  const { declared, used } = namesIn(code);
  const wanted = (name: string) => used.has(name) && !declared.has(name);
  const imports = [
    // A name that two subpaths export is imported once.
    ...new Map(
      modules.flatMap(({ specifier, names }) => names.map((name) => [name, { name, specifier }] as const)),
    ).values(),
    { name: "readFile", specifier: "node:fs/promises" },
    { name: "ConverseCommand", specifier: "@aws-sdk/client-bedrock-runtime" },
    { name: "ConverseStreamCommand", specifier: "@aws-sdk/client-bedrock-runtime" },
  ]
    .filter(({ name }) => wanted(name))
    .map(({ name, specifier }) => `import { ${name} } from "${specifier}";`);
  const declarations = Object.entries({ ...given, client: clientOf(code) })
    .filter(([name]) => wanted(name))
    .map(([name, type]) => `declare const ${name}: ${type};`);
  const zod = wanted("z") ? ['import * as z from "zod";'] : [];
  return [...imports, ...zod, ...declarations, code].join("\n");
}

/** Like Function, for bodies that wait. */
const AsyncFunction = (async () => undefined).constructor as FunctionConstructor;

describe("examples in the documentation", () => {
  it("are there", () => {
    expect(examples.length).toBeGreaterThan(15);
  });

  it("compile as a user would write them, and so do the programs of the guide", () => {
    const programs = guide.map((name) => [name, programOf(readFileSync(join(root, name), "utf8"))] as const);
    const files = new Map([
      ...examples.map(({ place, code }) => [place, moduleOf(code)] as const),
      ...programs,
    ]);
    const problems = typeProblems(files).map(({ name, line, message }) =>
      name.startsWith("docs/guide/") ? `${name}:${line}: ${message}` : `${name}: ${message}`,
    );
    expect(problems).toEqual([]);
  }, 180_000);

  const promises = examples.flatMap(({ place, code }) =>
    promisesOf(code).map((promised) => ({ place, code, ...promised })),
  );

  it("promise some values", () => {
    expect(promises.length).toBeGreaterThan(2);
  });

  it.each(promises)("gives what it promises at $place: $value", async ({ code, expression, value }) => {
    const before = code.slice(0, code.indexOf(expression)).replace(/^import.*$/gm, "");
    // A name that two subpaths pass on is the same thing in both.
    const names = [...new Set(modules.flatMap((module) => module.names))];
    const loaded = await Promise.all(entries.map(({ source }) => import(join(root, source))));
    const values = Object.assign({}, ...loaded) as Record<string, unknown>;
    const source = ts.transpile(`${before}\nreturn [${expression}, ${value}];`, {
      target: ts.ScriptTarget.ES2023,
    });
    const run = new AsyncFunction(...names, source) as (...args: unknown[]) => Promise<[unknown, unknown]>;
    const [actual, promised] = await run(...names.map((name) => values[name]));
    expect(actual).toEqual(promised);
  });
});
