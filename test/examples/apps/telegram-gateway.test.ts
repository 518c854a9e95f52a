import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type LocalProvider, startLocalProvider } from "../../../examples/apps/support/local-provider.js";
import { makePng } from "../../../examples/apps/support/make-media.js";
import { drawingAgent } from "../../../examples/apps/telegram-gateway/agent.js";
import {
  type LocalBotApi,
  type LocalCall,
  startLocalBotApi,
} from "../../../examples/apps/telegram-gateway/local-bot-api.js";
import { root } from "../../../scripts/entries.mjs";
import { runsSources } from "../support/programs.js";
import { type RunningGateway, startGateway } from "./telegram-gateway/gateway-fixture.js";

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-telegram-test-"));
});
afterAll(() => rmSync(scratch, { recursive: true }));

/** Each takes a few seconds on an idle machine. */
const timeout = 600_000;
const ada = 7;
const png = makePng(320, 200);

/** Every file below a directory, as one text. */
function everythingIn(dir: string): string {
  const names = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  return names.map((file) => readFileSync(join(file.parentPath, file.name), "latin1")).join("\n");
}

interface Program {
  readonly process: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

/** The application as a process; without a name the demo. */
function start(name: string, env: NodeJS.ProcessEnv = {}): Program {
  const child = spawn(
    process.execPath,
    [
      ...runsSources,
      `examples/apps/telegram-gateway/${name === "" ? "demo" : "main"}.ts`,
      ...(name === "" ? [] : [join(scratch, name)]),
    ],
    {
      cwd: root,
      env: { ...process.env, ANTHROPIC_API_KEY: undefined, TMPDIR: scratch, NO_COLOR: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  // After a failed test it may still run.
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  return {
    process: child,
    output: () => output,
    ended: once(child, "close").then(([code]) => code as number | null),
  };
}

const envOf = ({ token, root: url }: LocalBotApi) => ({
  TELEGRAM_BOT_TOKEN: token,
  TELEGRAM_API_ROOT: url,
  TELEGRAM_CHATS: "all",
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}

const never = () => new Promise<void>(() => undefined);

describe("the story", () => {
  it("ends well, with every check, and leaves nothing behind", { timeout }, async () => {
    const { output, ended } = start("");
    expect(await ended).toBe(0);
    expect(output()).not.toContain("FAIL");
    expect(output().match(/^ok {3}/gm)).toHaveLength(15);
    expect(readdirSync(scratch).filter((name) => name.startsWith("sessile-"))).toEqual([]);
  });
});

describe("the gateway tests of the seed", { timeout }, () => {
  let provider: LocalProvider;
  let gateway: RunningGateway;
  let dir: string;
  beforeAll(async () => {
    dir = join(scratch, "seed");
    provider = await startLocalProvider();
    const client = new Anthropic({ apiKey: "none", baseURL: provider.url, maxRetries: 0 });
    gateway = await startGateway({ dir, agent: await drawingAgent(dir, client) });
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await gateway.telegram[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
  });

  const newest = () => gateway.telegram.messages(ada).at(-1);

  // @covers R72
  it("11. Telegram photo in: a photo is sent, and the agent describes it", async () => {
    await gateway.finished(gateway.telegram.post(ada, { photo: png, text: "What is attached?" }));
    expect(newest()?.text).toMatch(/^An image of 320 x 200 pixels: res_/);
    const data = Buffer.from(png).toString("base64");
    expect(JSON.stringify(provider.requests.at(-1)).includes(data)).toBe(true);
    const blobs = join(dir, "sessions", "blobs");
    const [name = ""] = readdirSync(blobs);
    expect(name).toMatch(/^[0-9a-f]{64}\.png$/);
    expect(Buffer.compare(readFileSync(join(blobs, name)), png)).toBe(0);
  });

  // @covers R78
  it("12. Telegram image out: the agent makes a chart, and it appears as a photo with the text", async () => {
    await gateway.finished(gateway.telegram.post(ada, { text: "Show 3, 1, 4, 1, 5 as a chart." }));
    const { photo, caption } = newest() ?? {};
    expect(caption).toMatch(/^Here is the chart/);
    const chart = readFileSync(join(dir, "workspace", "chart.png"));
    expect(Buffer.compare(photo?.bytes ?? Buffer.alloc(0), chart)).toBe(0);
    expect(gateway.telegram.messages(ada)).toHaveLength(2);
  });

  // @covers R76
  it("13. Telegram photo size limit: a very large photo is refused before the agent is asked", async () => {
    const { length } = provider.requests;
    const before = everythingIn(join(dir, "sessions"));
    await gateway.finished(gateway.telegram.post(ada, { photo: png, toldSize: 15 * 2 ** 20 }));
    expect(newest()?.text).toBe("That image is too large: 15 MiB (max 10 MiB).");
    expect(provider.requests).toHaveLength(length);
    expect(everythingIn(join(dir, "sessions")) === before).toBe(true);
  });

  it("look again at a photo that is no longer sent, and do not send it back", async () => {
    const photos = Array.from({ length: 21 }, (_, at) => makePng(40 + at, 30));
    for (const photo of photos) {
      await gateway.finished(gateway.telegram.post(8, { photo, text: "What is attached?" }));
    }
    await gateway.finished(gateway.telegram.post(8, { text: "Look again at the first." }));
    const said = gateway.telegram.messages(8).at(-1);
    expect(said?.text).toMatch(/It is an image of 40 x 30 pixels\.$/);
    expect(gateway.telegram.messages(8).some(({ photo }) => photo !== undefined)).toBe(false);
    const asked = JSON.stringify(provider.requests.at(-1));
    expect(asked).toContain('"name":"view_resource"');
    expect(asked.includes(Buffer.from(photos[0] ?? "").toString("base64"))).toBe(true);
  });

  it("keep the token out of every file, and base64 out of the session", () => {
    const everything = everythingIn(dir);
    expect(everything).toContain("What is attached?");
    expect(everything.includes(gateway.telegram.token)).toBe(false);
    expect(everything.includes(Buffer.from(png).toString("base64").slice(0, 60))).toBe(false);
  });
});

describe("a process that is killed", { timeout }, () => {
  /** Runs the application until a call, and kills it before that call is carried out. */
  async function killedAt(telegram: LocalBotApi, name: string, isLast: (call: LocalCall) => unknown) {
    const first = start(name, envOf(telegram));
    telegram.beforeCall = async (call) => {
      if (!(await isLast(call))) return;
      first.process.kill("SIGKILL");
      await never();
    };
    await first.ended;
    telegram.beforeCall = () => undefined;
    const seen = telegram.calls.length;
    const second = start(name, envOf(telegram));
    await until(() => telegram.calls.length > seen);
    return {
      /** Sends one more message, and returns everything that was answered before it. */
      async answers() {
        telegram.post(ada, { text: "Show 3, 1, 4 as a chart." });
        await until(() => telegram.messages(ada).some(({ photo }) => photo !== undefined));
        second.process.kill("SIGINT");
        expect(await second.ended).toBe(0);
        const said = telegram.messages(ada);
        return said.map(({ text, caption }) => (text ?? caption)?.replace(/ of.*/, ""));
      },
    };
  }

  const both = ["An image", "Here is the chart, 80 x 120 pixels."];
  const question = { photo: png, text: "What is attached?" };

  it("between taking an update over and acknowledging it answers it once", async () => {
    await using telegram = await startLocalBotApi();
    const id = telegram.post(ada, question);
    const again = await killedAt(telegram, "before", async ({ method, params }) => {
      // It dies before any of the answer is sent.
      if (method !== "getUpdates") await never();
      return params.offset === id + 1;
    });
    expect(await again.answers()).toEqual(both);
  });

  it("after the answer, before it acknowledges, does not answer again", async () => {
    await using telegram = await startLocalBotApi();
    const id = telegram.post(ada, question);
    const done = () =>
      readFileSync(join(scratch, "after", "inbox.jsonl"), "utf8").includes(`{"updateId":${id}}`);
    const again = await killedAt(telegram, "after", async ({ method, params }) => {
      if (method !== "getUpdates" || params.offset !== id + 1) return false;
      await until(done);
      return true;
    });
    expect(telegram.messages(ada)).toHaveLength(1);
    expect(await again.answers()).toEqual(both);
  });

  it("in the middle of an answer, when the update is acknowledged, answers it after all", async () => {
    await using telegram = await startLocalBotApi();
    const id = telegram.post(ada, question);
    const acknowledged = () => telegram.calls.some(({ params }) => params.offset === id + 1);
    const again = await killedAt(telegram, "middle", async ({ method }) => {
      if (method !== "sendMessage") return false;
      await until(acknowledged);
      return true;
    });
    expect(await again.answers()).toEqual(both);
  });
});

describe("a process with a token", { timeout }, () => {
  it("says nothing of it, when it is wrong and when all is well", async () => {
    await using telegram = await startLocalBotApi();
    const wrong = start("wrong", { ...envOf(telegram), TELEGRAM_BOT_TOKEN: "99:wrong-Token" });
    expect(await wrong.ended).toBe(1);
    expect(wrong.output()).toContain("getUpdates: Unauthorized");
    expect(wrong.output()).not.toContain("wrong-Token");

    telegram.fail("getUpdates", "drop");
    telegram.fail("sendMessage", "drop");
    telegram.fail("download", "drop", "drop", "drop", "drop", "drop");
    const right = start("right", envOf(telegram));
    telegram.post(ada, { photo: png });
    await until(() => telegram.messages(ada).length > 0);
    right.process.kill("SIGINT");
    expect(await right.ended).toBe(0);
    expect(right.output()).toContain("download: no answer");
    expect(right.output()).toMatch(/^closed$/m);
    expect(right.output()).not.toContain(telegram.token);
    expect(everythingIn(join(scratch, "right")).includes(telegram.token)).toBe(false);
  });

  it("answers the chats alone that it is told of", async () => {
    await using telegram = await startLocalBotApi();
    const { process: child, output, ended } = start("chats", { ...envOf(telegram), TELEGRAM_CHATS: "7,8" });
    telegram.post(9, { text: "What is attached?" });
    telegram.post(8, { text: "What is attached?" });
    await until(() => telegram.messages(8).length > 0);
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
    expect(telegram.messages(9)).toEqual([]);
    expect(output()).toContain("chat 9 may not write");
  });

  it.each(["", "7;8", "7,"])("does not begin where chats are told as %j", async (chats) => {
    await using telegram = await startLocalBotApi();
    const { output, ended } = start("no-chats", { ...envOf(telegram), TELEGRAM_CHATS: chats });
    expect(await ended).toBe(1);
    expect(output()).toContain("TELEGRAM_CHATS: expected");
    expect(telegram.calls).toEqual([]);
  });
});
