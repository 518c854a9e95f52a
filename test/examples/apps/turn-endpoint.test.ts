import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileSessionStore } from "sessile/node";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { turnClient } from "../../../examples/apps/turn-endpoint/client.js";
import { root } from "../../../scripts/entries.mjs";
import { firstLine } from "../../support/first-line.js";
import { runsSources } from "../support/programs.js";
import { Listening } from "./turn-endpoint/listen.js";

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-turn-endpoint-test-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const program = (name: string) => [...runsSources, `examples/apps/turn-endpoint/${name}.ts`];
/** The environment without keys, ports and directories of this machine. */
function environment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const {
    ANTHROPIC_API_KEY: _key,
    PORT: _port,
    SESSILE_DIR: _dir,
    SESSILE_WORKSPACE: _work,
    ...rest
  } = process.env;
  return { ...rest, TMPDIR: scratch, NO_COLOR: "1", FORCE_COLOR: undefined, ...more };
}

/** Each takes a few seconds on an idle machine. */
const timeout = 600_000;

describe("the turn endpoint", () => {
  it("ends well, with every check, and leaves nothing behind", { timeout }, async () => {
    const run = await new Promise<{ code: number | null; stdout: string; stderr: string }>((done) => {
      const child = execFile(
        process.execPath,
        program("demo"),
        { cwd: root, env: environment() },
        (_error, stdout, stderr) => done({ code: child.exitCode, stdout, stderr }),
      );
    });
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).not.toContain("FAIL");
    expect(run.stdout.match(/^ok {3}/gm)).toHaveLength(21);
    expect(readdirSync(scratch).filter((name) => name.startsWith("sessile-turn-"))).toEqual([]);
  });
});

describe("the server of the turn endpoint", { timeout }, () => {
  const children: ChildProcess[] = [];
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    }
  });

  async function serve(dir: string) {
    const child = spawn(process.execPath, program("main"), {
      cwd: root,
      env: environment({ SESSILE_DIR: dir }),
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
    const line = await firstLine(child.stdout);
    const [, origin = "", token = ""] = /^(http:\/\/127\.0\.0\.1:\d+)\/#(\S{40,})$/.exec(line) ?? [];
    const stop = async (signal: NodeJS.Signals): Promise<unknown> => {
      const ended = once(child, "exit");
      child.kill(signal);
      return (await ended)[0];
    };
    return { origin, client: turnClient({ origin, token }), stop };
  }

  it("prints its address, and has the session again after it was killed in the middle of a turn", async () => {
    const dir = join(scratch, "kept");
    const first = await serve(dir);
    expect((await first.client.turn("Hello.")).at(-1)?.event).toBe("done");
    const { id } = await first.client.session();
    // A story takes minutes.
    const story = first.client.turn("Tell me a story.").catch(() => "cut off");
    await first.client.until(({ entries }) => entries.length === 3);
    expect(await first.stop("SIGKILL")).toBeNull();
    expect(await story).toBe("cut off");

    const second = await serve(dir);
    const again = await second.client.session();
    expect([again.id, again.running]).toEqual([id, false]);
    expect(again.entries.map(({ text }) => text)).toEqual(["Hello.", "I see no files.", "Tell me a story."]);
    expect((await second.client.turn("Never mind.")).at(-1)?.event).toBe("done");
    expect(await second.stop("SIGINT")).toBe(0);
  });

  it("ends a turn that runs when it is told to end, and keeps what was said", async () => {
    const dir = join(scratch, "interrupted");
    const { client, stop } = await serve(dir);
    const story = new Listening(
      await client.send("POST", "/api/harness/turn", { message: "Tell me a story." }),
    );
    await story.until("limpet");
    expect(await stop("SIGTERM")).toBe(0);
    const events = await story.rest();
    expect(events.at(-1)?.data.error?.code).toBe("ABORTED");
    const sessions = fileSessionStore({ dir: join(dir, "sessions") });
    await using session = await sessions.open((await sessions.latest())?.id ?? "");
    const last = await session.entry(session.leafId ?? "");
    expect(last).toMatchObject({ message: { role: "assistant", stopReason: "aborted" } });
  });
});
