// A host that starts the server over stdio, sends an image, gets a chart, and checks what it gets:
// `npx tsx examples/apps/mcp-server/demo.ts`. The model is a script unless ANTHROPIC_API_KEY is set.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { tetherImage } from "sessile/tether";
import { check } from "../support/check.js";
import { startLocalProvider } from "../support/local-provider.js";
import { makePng } from "../support/make-media.js";

const program = fileURLToPath(new URL("main.ts", import.meta.url));
const instance = "agent";

await demo();

async function demo(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "sessile-mcp-"));
  await using provider = await startLocalProvider();
  const { ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL = "" } = process.env;
  const real = ANTHROPIC_API_KEY !== undefined;
  const env = real
    ? { ANTHROPIC_API_KEY, ...(ANTHROPIC_BASE_URL === "" ? {} : { ANTHROPIC_BASE_URL }) }
    : { ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: provider.url };
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...process.execArgv, program, "--stdio", "--dir", dir],
    env: { PATH: process.env.PATH ?? "", ...env },
  });
  const client = new Client({ name: "story", version: "1.0.0" });
  await client.connect(transport);
  try {
    const { tools } = await client.listTools();
    check(
      "it has two tools",
      tools.map(({ name }) => name),
      ["tether_send", "tether_read"],
    );

    console.log("\nAn image goes in");
    const image = makePng(320, 200);
    const sent = tetherImage(image);
    const seen = await ask(client, { text: "What is attached?", images: [sent] });
    console.log(`  ${seen.text}`);
    if (!real) {
      check("the model sees it", seen.text.startsWith("An image of 320 x 200 pixels: res_"));
      check("byte for byte", JSON.stringify(provider.requests.at(-1)).includes(sent.data));
    }
    const stored = join(dir, "sessions", "blobs");
    const [name = ""] = await readdir(stored);
    check("it is stored under its digest", /^[0-9a-f]{64}\.png$/.test(name));
    check("as it came", Buffer.compare(await readFile(join(stored, name)), image), 0);
    const [log] = await logsIn(join(dir, "sessions"));
    check("the session names it, and does not hold it", log?.includes(sent.data.slice(0, 60)), false);

    console.log("\nAn image comes out");
    const drawn = await ask(client, { text: "Show 3, 1, 4, 1, 5 as a chart." });
    console.log(`  ${drawn.text}`);
    const [chart] = drawn.images;
    check("the answer has one image", [drawn.images.length, chart?.mimeType], [1, "image/png"]);
    const file = await readFile(join(dir, "workspace", "chart.png")).catch(() => Buffer.alloc(0));
    if (!real) check("byte for byte the tool's", chart?.data, file.toString("base64"));

    console.log("\nWhat is refused");
    const five = await call(client, "tether_send", { text: "Five.", images: Array(5).fill(sent) });
    check("five images", five.isError, true);
    console.log(`  ${textOf(five)}`);
    const gif = await call(client, "tether_send", {
      text: "A GIF?",
      images: [{ ...sent, media_type: "image/gif" }],
    });
    check("an image that is not what it says", gif.isError, true);
    console.log(`  ${textOf(gif)}`);
  } finally {
    await client.close();
    await rm(dir, { recursive: true, force: true });
  }
}

interface Answer {
  readonly text: string;
  readonly images: readonly { readonly data: string; readonly mimeType: string }[];
}

/** Sends a message, and reads until the answer is complete. */
async function ask(client: Client, message: Readonly<Record<string, unknown>>): Promise<Answer> {
  const sent = JSON.parse(textOf(await call(client, "tether_send", message)));
  let after_seq = sent.seq;
  for (;;) {
    const read = await call(client, "tether_read", { after_seq, wait_ms: 30_000, types: ["assistant.done"] });
    const { frames, next_seq } = JSON.parse(textOf(read));
    const done = frames.find(({ msg_id }: { readonly msg_id: string }) => msg_id === sent.answer_id);
    if (done !== undefined) {
      return {
        text: done.payload.text,
        images: read.content.flatMap((part) => (part.type === "image" ? [part] : [])),
      };
    }
    after_seq = next_seq;
  }
}

type Result = Extract<Awaited<ReturnType<Client["callTool"]>>, { readonly content: unknown }>;

async function call(client: Client, name: string, args: Readonly<Record<string, unknown>>): Promise<Result> {
  return (await client.callTool({ name, arguments: { instance, ...args } })) as Result;
}

function textOf({ content: [first] }: Result): string {
  return first?.type === "text" ? first.text : "";
}

/** The session files below a directory. */
async function logsIn(dir: string): Promise<readonly string[]> {
  const names = await readdir(dir, { recursive: true });
  const logs = names.filter((name) => name.endsWith(".jsonl"));
  return Promise.all(logs.map((name) => readFile(join(dir, name), "utf8")));
}
