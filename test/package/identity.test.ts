import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Built, buildPackage } from "../support/built.js";
import { definitionsOf } from "../support/chunks.js";
import { readFolder } from "../support/sources.js";

let built: Built;
beforeAll(async () => {
  built = await buildPackage();
});
afterAll(() => built?.[Symbol.dispose]());

const load = <T>(name: string): Promise<T> => import(pathToFileURL(join(built.dir, `${name}.js`)).href);

describe("SessileError in the built package", () => {
  it("is defined in one chunk", () => {
    expect(definitionsOf("SessileError", readFolder(built.dir, ".js"))).toHaveLength(1);
  });

  it("is the same class in the session as in sessile/errors", async () => {
    const { SessileError } = await load<typeof import("sessile/errors")>("errors");
    const { memorySessionStore } = await load<typeof import("sessile")>("index");
    const thrown = await memorySessionStore()
      .open("no-such-session")
      .catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(SessileError);
    expect(thrown).toHaveProperty("code", "SESSION_NOT_FOUND");
  });
});

describe("definitionsOf", () => {
  it.each([
    `export class Bad extends Error {}`,
    `var Bad = class _Bad extends Error {};`,
    `var Bad = class extends Error {};`,
    `{ class Bad {} }`,
  ])("finds %s", (text) => {
    const files = [
      { path: "a.js", text },
      { path: "b.js", text: `import { Bad } from "./a.js"; new Bad();` },
      { path: "c.js", text },
    ];
    expect(definitionsOf("Bad", files)).toEqual(["a.js", "c.js"]);
  });
});
