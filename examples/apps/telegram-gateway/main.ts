// An agent on Telegram: see README.md.
import Anthropic from "@anthropic-ai/sdk";
import { startLocalProvider } from "../support/local-provider.js";
import { drawingAgent } from "./agent.js";
import { botApi } from "./bot-api.js";
import { runGateway } from "./gateway.js";
import { openInbox } from "./inbox.js";

const { TELEGRAM_BOT_TOKEN, TELEGRAM_API_ROOT, TELEGRAM_CHATS, ANTHROPIC_API_KEY } = process.env;
if (TELEGRAM_BOT_TOKEN === undefined) {
  console.error("TELEGRAM_BOT_TOKEN: expected a token of BotFather; demo.ts runs without one");
  process.exitCode = 1;
} else await serve(TELEGRAM_BOT_TOKEN, process.argv[2] ?? ".telegram");

async function serve(token: string, dir: string): Promise<void> {
  const mayWrite = chatsOf(TELEGRAM_CHATS);
  if (mayWrite === undefined) {
    console.error('TELEGRAM_CHATS: expected ids of chats with commas between them, or "all"');
    process.exitCode = 1;
    return;
  }
  const stop = new AbortController();
  // A second signal ends the process at once; unfinished tasks are repeated at the next start.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  const inbox = await openInbox(dir);
  await using provider = await startLocalProvider();
  const client =
    ANTHROPIC_API_KEY === undefined
      ? new Anthropic({ apiKey: "none", baseURL: provider.url, maxRetries: 0 })
      : new Anthropic();
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

/** Whether a chat is answered; undefined for a missing or malformed list. */
function chatsOf(told = ""): ((chatId: number) => boolean) | undefined {
  if (told === "all") return () => true;
  const ids = told.split(",").map((id) => (/^\s*-?\d+\s*$/.test(id) ? Number(id) : Number.NaN));
  return ids.some(Number.isNaN) ? undefined : (chatId) => ids.includes(chatId);
}
