import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { customEntry } from "sessile";
import { fileSessionStore } from "sessile/node";
import { expect, it, onTestFinished } from "vitest";
import { SessionHandles } from "../../../../src/frameworks/shared/handles.js";
import { startProcess, useProgram } from "../../../faults/start-child.js";

const item = customEntry("sessile.test.item", (data) => data as string);
const program = useProgram(new URL("./writer.ts", import.meta.url));

it("two processes on one key lose nothing and double nothing", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sessile-adapters-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const writers = ["a", "b"].map((name) =>
    startProcess(process.execPath, [program(), dir, name, "60", "10"]),
  );
  expect(await Promise.all(writers.map(({ ended }) => ended))).toEqual([0, 0]);
  const handles = new SessionHandles("langgraph", { sessions: fileSessionStore({ dir }), maxOpen: 1 });
  onTestFinished(() => handles.close());
  await handles.read({ partition: "test", key: "one/key" }, async (session) => {
    const path = (await session?.path()) ?? [];
    const items = path.map((entry) => item.read(entry)).slice(1);
    expect(path.length).toBe((await session?.tree())?.size);
    for (const name of ["a", "b"]) {
      const own = items.filter((each) => each?.startsWith(name));
      expect(own).toEqual(Array.from({ length: 60 }, (_, at) => `${name} ${at}`));
    }
    expect(items).toHaveLength(120);
    expect(session?.diagnostics).toEqual([]);
  });
  const listed: string[] = [];
  for await (const { key } of handles.list("test")) listed.push(key);
  expect(listed).toEqual(["one/key"]);
});
