import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { commands } from "../../src/cli/commands/index.js";
import { firstLine } from "../support/first-line.js";
import { type Installed, installPackage } from "./installed.js";
import { packedCalls } from "./packed-calls.js";

let installed: Installed;
let run: Installed["run"];
let shell: Installed["shell"];
let spawned: (...words: readonly string[]) => ChildProcessByStdio<null, Readable, null>;

beforeAll(async () => {
  installed = await installPackage();
  ({ run, shell } = installed);
  const { dir, program, env } = installed;
  spawned = (...words) => spawn(program, words, { cwd: dir, env, stdio: ["ignore", "pipe", "inherit"] });
});

afterAll(() => installed?.[Symbol.dispose]());

describe("the installed program", () => {
  it("is the command of the package", () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const called = spawnSync("npx", ["--no-install", "sessile", "--version"], {
      cwd: installed.dir,
      encoding: "utf8",
      env: installed.env,
    });
    expect([called.status, called.stdout]).toEqual([0, `${version}\n`]);
  });

  // The test of `serve` is below: it does not end by itself. Two write into the homes of agents.
  const others = ["serve", "resume", "restore"];
  it.each(commands.filter(({ name }) => !others.includes(name)))("has the command $name", ({ name }) => {
    const found = packedCalls(installed)[name];
    expect(found).toBeDefined();
    const { words = [], code = 0, prints = /./, writes } = found ?? {};
    const called = run(...name.split(" "), ...words);
    expect([called.status, called.stderr.replace(/^wrote .*\n/, "")]).toEqual([code, ""]);
    expect(called.stdout).toMatch(prints);
    if (writes) expect(readFileSync(join(installed.dir, writes[0]), "utf8")).toContain(writes[1]);
  });

  it("ends with 2 and 3, and prints data on standard output alone", () => {
    expect(run("frob")).toMatchObject({ status: 2, stdout: "" });
    expect(run("show", "./nothing.jsonl")).toMatchObject({ status: 3, stdout: "" });
  });

  it("ends quietly and well if the reader closes the pipe", () => {
    // One line goes over the pipe's buffer many times, so that the writes come behind the end of the reader.
    const many = join(installed.dir, "many.jsonl");
    const lines = readFileSync(installed.path, "utf8").split("\n").filter(Boolean);
    const [header = "", first = "{}"] = lines;
    const { crc: _, ...entry } = JSON.parse(first);
    const long = Array.from({ length: 3000 }, (_each, at) =>
      JSON.stringify({
        type: "custom_message",
        id: `m${at}`,
        parentId: at === 0 ? null : `m${at - 1}`,
        timestamp: entry.timestamp,
        customType: "note",
        display: true,
        content: "x".repeat(200),
      }),
    );
    writeFileSync(many, `${[header, ...long].join("\n")}\n`);
    const { status, stdout, stderr } = shell("sessile show ./many.jsonl --json | head -n 1");
    expect([status, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ id: "m0" });
  });

  it("leaves nothing half written after Ctrl-C", async () => {
    const words = ["project", "./many.jsonl", "--target", "openai", "--model", "gpt-5", "-o", "cut.json"];
    for (const afterMs of [200, 400]) {
      const child = spawned(...words);
      const ended = once(child, "close");
      setTimeout(() => child.kill("SIGINT"), afterMs);
      const [code, signal] = await ended;
      const files = readdirSync(installed.dir).filter((name) => name.startsWith("cut.json"));
      // Before the handler is there, the signal ends the process itself; behind the work, it comes too late.
      if (code !== 0 && code !== 1) {
        expect([130, null]).toContain(code);
        expect(code === null ? signal : "SIGINT").toBe("SIGINT");
      }
      // The signal may come between the rename and the end of the process: then the file is whole.
      expect([[], ["cut.json"]]).toContainEqual(files);
      if (code === 0 || code === 1) expect(files).toHaveLength(1);
      for (const name of files) {
        JSON.parse(readFileSync(join(installed.dir, name), "utf8"));
        rmSync(join(installed.dir, name));
      }
    }
  });

  it("serves a session as it is written, to its own page alone", async () => {
    const child = spawned("serve", "latest", "--json");
    const ended = once(child, "close");
    try {
      const line = await firstLine(child.stdout);
      const { url } = JSON.parse(line);
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/);
      const page = await (await fetch(url)).text();
      expect(page).toContain("Nothing is readable.");
      const [live = ""] = /[^"]*\/events\?after=\d+/.exec(page) ?? [];
      expect(live).toMatch(new RegExp(`^${new URL(url).pathname}`));
      const status = async (path: string, headers: Record<string, string> = {}, method = "GET") => {
        const asked = request(new URL(path, url), { headers, method }).end();
        const [response] = (await once(asked, "response")) as [IncomingMessage];
        response.resume();
        return response.statusCode;
      };
      expect(await status(url)).toBe(200);
      expect(await status(url, { host: "evil.example" })).toBe(403);
      expect(await status(url, { origin: "https://evil.example" })).toBe(403);
      expect(await status(url, { "sec-fetch-site": "cross-site" })).toBe(403);
      expect(await status("/")).toBe(404);
      expect(await status(`/${"0".repeat(32)}/`)).toBe(404);
      expect(await status(url, {}, "POST")).toBe(405);

      const events = await fetch(new URL(live, url));
      expect(events.headers.get("content-type")).toBe("text/event-stream");
      const store = fileSessionStore({ dir: join(installed.dir, ".sessile", "sessions") });
      const session = await store.open(installed.id, { mode: "write" });
      await session.appendMessage({ role: "user", content: "Written meanwhile.", timestamp: 1 });
      await session.close();
      let text = "";
      for await (const chunk of events.body ?? []) {
        text += new TextDecoder().decode(chunk);
        if (text.includes("\n\n")) break;
      }
      expect(text).toMatch(/^event: change\nid: \d+\ndata: .*Written meanwhile\./);
      expect(text).not.toContain("Nothing is readable.");

      const path = session.location ?? "";
      renameSync(path, `${path}.gone`);
      expect(await status(url)).toBe(500);
      renameSync(`${path}.gone`, path);
      expect(await status(url)).toBe(200);
    } finally {
      child.kill("SIGINT");
    }
    expect((await ended)[0]).toBe(130);
  });

  it("completes in bash by its own script", () => {
    const line = `source <(sessile completion bash); COMP_WORDS=(sessile show ""); COMP_CWORD=2; _sessile; echo "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = shell(line);
    expect([stdout, stderr]).toEqual([`latest ${installed.id}\n`, ""]);
  });
});
