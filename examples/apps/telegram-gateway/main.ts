// A bot on Telegram: people write to it and send photos, an agent answers, with images where it makes some. Its model is
// Anthropic's where ANTHROPIC_API_KEY is in the environment, and else a script behind a provider on this machine.
//
//   npx tsx examples/apps/telegram-gateway/main.ts         the story, with a Bot API on this machine
//   TELEGRAM_BOT_TOKEN=… TELEGRAM_CHATS=… npx tsx examples/apps/telegram-gateway/main.ts [DIR]
//                                                   the real one, until Ctrl-C; what it keeps is in DIR, default .telegram
//
// TELEGRAM_CHATS: ids of the chats that it answers, with commas between them, or "all": anybody can find a bot and write to it.
// TELEGRAM_API_ROOT: a Bot API server of one's own.
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

const { TELEGRAM_BOT_TOKEN, TELEGRAM_API_ROOT, TELEGRAM_CHATS, ANTHROPIC_API_KEY } = process.env;
if (TELEGRAM_BOT_TOKEN === undefined) await tellStory();
else await serve(TELEGRAM_BOT_TOKEN, process.argv[2] ?? ".telegram");

async function serve(token: string, dir: string): Promise<void> {
  const mayWrite = chatsOf(TELEGRAM_CHATS);
  if (mayWrite === undefined) {
    console.error('TELEGRAM_CHATS: expected ids of chats with commas between them, or "all"');
    process.exitCode = 1;
    return;
  }
  const stop = new AbortController();
  // The same one again ends the process at once; what was not finished is taken up at the next start.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  const inbox = await openInbox(dir);
  await using provider = await startLocalProvider();
  const client = ANTHROPIC_API_KEY === undefined ? localClient(provider.url) : new Anthropic();
  console.log("polling");
  await runGateway({
    api: botApi({ token, ...(TELEGRAM_API_ROOT === undefined ? {} : { root: TELEGRAM_API_ROOT }) }),
    agent: await drawingAgent(dir, client),
    inbox,
    signal: stop.signal,
    mayWrite,
    onProblem: (problem) => console.error(problem),
  });
  await inbox.close();
  console.log("closed");
}

/** Which chats are answered; undefined where that is not told, or not in numbers. */
function chatsOf(told = ""): ((chatId: number) => boolean) | undefined {
  if (told === "all") return () => true;
  const ids = told.split(",").map((id) => (/^\s*-?\d+\s*$/.test(id) ? Number(id) : Number.NaN));
  return ids.some(Number.isNaN) ? undefined : (chatId) => ids.includes(chatId);
}

function localClient(baseURL: string): Anthropic {
  return new Anthropic({ apiKey: "none", baseURL, maxRetries: 0 });
}

// The story, and what has to be true of it.

async function tellStory(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "sessile-telegram-"));
  await using telegram = await startLocalBotApi();
  await using provider = await startLocalProvider();
  const stop = new AbortController();
  const inbox = await openInbox(dir);
  const agent = await drawingAgent(dir, localClient(provider.url));
  const problems: string[] = [];
  const onProblem: GatewayOptions["onProblem"] = (problem) => void problems.push(problem);
  const running = runGateway({ api: botApi(telegram), agent, inbox, signal: stop.signal, onProblem });
  const ada = 7;

  /** What the bot says to it, oldest first. */
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
