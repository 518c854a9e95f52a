// A person writes to the bot over a Bot API on this machine; each answer is checked:
// `npx tsx examples/apps/telegram-gateway/demo.ts`. The model is a script.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import Anthropic from "@anthropic-ai/sdk";
import { check } from "../support/check.js";
import { startLocalProvider } from "../support/local-provider.js";
import { makePng } from "../support/make-media.js";
import { drawingAgent } from "./agent.js";
import { botApi } from "./bot-api.js";
import { type GatewayOptions, runGateway } from "./gateway.js";
import { openInbox } from "./inbox.js";
import { type LocalPost, startLocalBotApi } from "./local-bot-api.js";
import { tooManyRequests } from "./local-chats.js";

await demo();

async function demo(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "sessile-telegram-"));
  await using telegram = await startLocalBotApi();
  await using provider = await startLocalProvider();
  const stop = new AbortController();
  const inbox = await openInbox(dir);
  const agent = await drawingAgent(
    dir,
    new Anthropic({ apiKey: "none", baseURL: provider.url, maxRetries: 0 }),
  );
  const problems: string[] = [];
  const onProblem: GatewayOptions["onProblem"] = (problem) => void problems.push(problem);
  const running = runGateway({ api: botApi(telegram), agent, inbox, signal: stop.signal, onProblem });
  const ada = 7;

  /** The bot's messages for a post, oldest first. */
  async function say(post: LocalPost) {
    const before = telegram.messages(ada).length;
    const id = telegram.post(ada, post);
    const ended = running.then(() => true);
    while (!inbox.has(id) || inbox.waiting.some(({ updateId }) => updateId === id)) {
      if ((await Promise.race([setTimeout(10), ended])) === true) throw new Error("the gateway has ended");
    }
    const said = telegram.messages(ada).slice(before);
    for (const { text, caption, photo } of said) {
      console.log(
        `  ${photo === undefined ? "" : `[${photo.mediaType}, ${photo.bytes.length} bytes] `}${text ?? caption}`,
      );
    }
    return said;
  }

  console.log("A photo with a caption");
  const image = makePng(320, 200);
  const [seen] = await say({ photo: image, text: "What is attached?" });
  check("the agent sees it", seen?.text?.startsWith("An image of 320 x 200 pixels: res_"));
  const data = Buffer.from(image).toString("base64");
  check("byte for byte", JSON.stringify(provider.requests.at(-1)).includes(data));
  const stored = join(dir, "sessions", "blobs");
  const [name = ""] = await readdir(stored);
  check("it is stored under its digest, with the type of its bytes", /^[0-9a-f]{64}\.png$/.test(name));
  check("as it came", Buffer.compare(await readFile(join(stored, name)), image), 0);

  console.log("\nA chart");
  const [drawn, ...more] = await say({ text: "Show 3, 1, 4, 1, 5 as a chart." });
  const chart = await readFile(join(dir, "workspace", "chart.png"));
  check(
    "it comes as a photo, byte for byte",
    Buffer.compare(drawn?.photo?.bytes ?? new Uint8Array(), chart),
    0,
  );
  check("the words stand below it, and nowhere else", [drawn?.caption !== undefined, more.length], [true, 0]);

  console.log("\nWhat is refused");
  const fetched = () => telegram.calls.filter(({ method }) => method === "download").length;
  const before = fetched();
  const [large] = await say({ photo: image, toldSize: 15 * 2 ** 20 });
  check("a photo that is too large", large?.text, "That image is too large: 15 MiB (max 10 MiB).");
  check("before it is fetched", fetched(), before);
  const [none] = await say({ photo: Buffer.from("<!doctype html><title>404</title>") });
  check("what is no image", none?.text, "That is no image. I can look at PNG, JPEG, GIF and WebP images.");

  console.log("\nToo many messages, and an album");
  telegram.fail("sendMessage", tooManyRequests(1));
  const asked = performance.now();
  const late = await say({ text: "What is attached?" });
  check("it waits as long as it is told", performance.now() - asked >= 1000);
  check("and answers once", late.length, 1);
  const answered = telegram.messages(ada).length;
  for (let at = 0; at < 3; at++) {
    await say({ photo: image, text: "What is attached?", fields: { media_group_id: "album" } });
  }
  check("of an album the first photo is taken", telegram.messages(ada).length, answered + 1);

  stop.abort();
  await running;
  await inbox.close();
  const files = await readdir(dir, { recursive: true, withFileTypes: true });
  const texts = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), "latin1")),
  );
  check("the token is in no file", texts.join("").includes(telegram.token), false);
  check("and no base64 of the photo", texts.join("").includes(data.slice(0, 60)), false);
  check("nothing else went wrong", problems, []);
  await rm(dir, { recursive: true });
}
