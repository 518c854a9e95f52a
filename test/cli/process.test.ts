import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileSessionStore } from "sessile/session/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { buildPackage } from "../support/built.js";
import { type Sample, sample } from "./sample.js";

/** A project in which the package is installed as npm would do it, from the files that it packs. */
let installed: Sample;
let program: string;
const packed = join(mkdtempSync(join(tmpdir(), "sessile-packed-")), "package");

beforeAll(async () => {
  installed = await sample();
  using built = await buildPackage();
  mkdirSync(packed);
  cpSync(built.dir, join(packed, "dist"), { recursive: true });
  // In place of the application, which test/viewer builds and tests.
  mkdirSync(join(packed, "dist", "viewer"));
  writeFileSync(join(packed, "dist", "viewer", "app.html"), "<main></main>\n<!--session-data-->\n");
  cpSync(join(root, "package.json"), join(packed, "package.json"));
  const modules = join(installed.dir, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  // npm decides which of them are in the package.
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", installed.dir];
  const [{ filename }] = JSON.parse(execFileSync("npm", args, { cwd: packed, encoding: "utf8" }));
  execFileSync("tar", ["xzf", filename, "-C", modules], { cwd: installed.dir });
  rmSync(join(installed.dir, filename));
  cpSync(join(modules, "package"), join(modules, "sessile"), { recursive: true });
  const { dependencies, bin } = JSON.parse(readFileSync(join(modules, "sessile", "package.json"), "utf8"));
  for (const name of Object.keys(dependencies)) {
    mkdirSync(join(modules, name, ".."), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  }
  program = join(modules, "sessile", bin.sessile);
  execFileSync("chmod", ["+x", program]);
  symlinkSync(program, join(modules, ".bin", "sessile"));
}, 120_000);

afterAll(() => {
  installed[Symbol.dispose]();
  rmSync(join(packed, ".."), { recursive: true, force: true });
});

const env = () => ({ ...process.env, HOME: join(installed.dir, "home"), NO_COLOR: undefined });
const run = (...words: readonly string[]) =>
  spawnSync(process.execPath, [program, ...words], { cwd: installed.dir, encoding: "utf8", env: env() });
const shell = (line: string) =>
  spawnSync("bash", ["-c", `set -o pipefail; ${line}`], {
    cwd: installed.dir,
    encoding: "utf8",
    env: { ...env(), PATH: `${join(installed.dir, "node_modules", ".bin")}:${process.env.PATH}` },
  });

describe("the installed program", () => {
  it("is the command of the package", () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const called = spawnSync("npx", ["--no-install", "sessile", "--version"], {
      cwd: installed.dir,
      encoding: "utf8",
      env: env(),
    });
    expect([called.status, called.stdout]).toEqual([0, `${version}\n`]);
  });

  it("ends with 1, 2 and 3", () => {
    expect(run("diff", "latest", installed.ids.side, "leaf").status).toBe(1);
    expect(run("frob").status).toBe(2);
    expect(run("show", "./nothing.jsonl").status).toBe(3);
  });

  it("prints data on standard output alone", () => {
    const { stdout, stderr } = run("ls", "--json");
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toMatchObject({ id: installed.id, agent: "sessile" });
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
      const child = spawn(process.execPath, [program, ...words], { cwd: installed.dir, env: env() });
      const ended = once(child, "close");
      setTimeout(() => child.kill("SIGINT"), afterMs);
      const [code, signal] = await ended;
      const files = readdirSync(installed.dir).filter((name) => name.startsWith("cut.json"));
      // Before the handler is there, the signal ends the process itself; behind the work, it comes too late.
      if (code === 0 || code === 1) {
        JSON.parse(readFileSync(join(installed.dir, "cut.json"), "utf8"));
        rmSync(join(installed.dir, "cut.json"));
      } else {
        expect([130, null]).toContain(code);
        expect(code === null ? signal : "SIGINT").toBe("SIGINT");
        expect(files).toEqual([]);
      }
    }
  });

  it("writes a session as one HTML file, with its images", () => {
    const { status, stdout } = run("view", "latest", "-o", "session.html", "--json");
    expect(status).toBe(0);
    const html = readFileSync(join(installed.dir, "session.html"), "utf8");
    expect(JSON.parse(stdout)).toEqual({
      file: join(installed.dir, "session.html"),
      bytes: Buffer.byteLength(html),
      leftOut: [],
    });
    expect(html).toContain("Nothing is readable.");
    expect(html).toContain(installed.ref);
    expect(html).not.toContain("\u001b");
  });

  it("serves a session as it is written, to its own page alone", async () => {
    const child = spawn(process.execPath, [program, "serve", "latest", "--json"], {
      cwd: installed.dir,
      env: env(),
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "close");
    try {
      const [line] = await once(child.stdout, "data");
      const { url } = JSON.parse(String(line));
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
    } finally {
      child.kill("SIGINT");
    }
    expect((await ended)[0]).toBe(130);
  });

  it("imports a session of another agent, searches, counts and exports it", () => {
    const file = join(root, "test/interop/codex/files/tools-0.169.jsonl");
    const imported = run("import", file, "--to", "store", "--json");
    expect(imported.stderr).toBe("");
    const { id } = JSON.parse(imported.stdout);
    const inStore = (...words: readonly string[]) => run(...words, "--dir", "store", "--json");
    expect(JSON.parse(inStore("stats", id).stdout)).toMatchObject({ sessions: 1, tokens: { total: 600 } });
    expect(inStore("search", "exec_command").stdout).toContain(id);
    const exported = inStore("export", id, "--to", "claude-code", "-o", "home");
    expect(JSON.parse(exported.stdout).resume[0]).toBe("claude");
  });

  it("completes in bash by its own script", () => {
    const line = `source <(sessile completion bash); COMP_WORDS=(sessile show ""); COMP_CWORD=2; _sessile; echo "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = shell(line);
    expect([stdout, stderr]).toEqual([`latest ${installed.id}\n`, ""]);
  });
});
