import { mkdtempSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AssistantDeltaFrame,
  type AssistantDoneFrame,
  assistantDelta,
  assistantDone,
  type CheckedUserMessage,
  readFrame,
  tetherImage,
} from "sessile/tether";
import { onTestFinished } from "vitest";
import type { TetherAgent } from "../../../../examples/apps/support/tether-agent.js";
import { type BotApi, botApi } from "../../../../examples/apps/telegram-gateway/bot-api.js";
import { type GatewayOptions, runGateway } from "../../../../examples/apps/telegram-gateway/gateway.js";
import { type Inbox, openInbox } from "../../../../examples/apps/telegram-gateway/inbox.js";
import {
  type LocalBotApi,
  startLocalBotApi,
} from "../../../../examples/apps/telegram-gateway/local-bot-api.js";
import type { Clock } from "../../../../examples/apps/telegram-gateway/retry.js";
import { instantClock } from "./clocks.js";

/** The answer of a test's agent to a message: pieces, then the end. */
export interface Said {
  readonly deltas?: readonly string[];
  /** The next piece comes when it is true. Default after 50 ms. */
  readonly isShown?: () => boolean;
  readonly text: string;
  readonly images?: readonly Uint8Array[];
}

/** An agent whose answers a function makes. */
export function agentOf(say: (message: CheckedUserMessage) => Said | Promise<Said>): TetherAgent {
  return {
    isBusy: () => false,
    async *answer(received): AsyncGenerator<AssistantDeltaFrame | AssistantDoneFrame> {
      const message = readFrame(received) as CheckedUserMessage;
      const { deltas = [], isShown, text, images = [] } = await say(message);
      const { session } = message.frame;
      for (const delta of deltas) {
        yield assistantDelta(session, delta);
        // Time for a first message to arrive.
        do await new Promise((resolve) => setTimeout(resolve, isShown === undefined ? 50 : 5));
        while (isShown?.() === false);
      }
      yield assistantDone(session, text, images.map(tetherImage));
    },
  };
}

/** An agent that repeats the message. */
const echo = agentOf(({ frame }) => ({ text: `You said: ${frame.payload.text}` }));

/** An agent that records its messages. */
export function listener(): { readonly agent: TetherAgent; readonly heard: readonly CheckedUserMessage[] } {
  const heard: CheckedUserMessage[] = [];
  const agent = agentOf((message) => {
    heard.push(message);
    return { text: "Seen." };
  });
  return { agent, heard };
}

/** The person who writes to the bot. */
export const ada = 7;

/** The texts and images of a chat, with captions. */
export function said(telegram: LocalBotApi, chat = ada) {
  return telegram.messages(chat).map(({ text, caption, photo, document }) => {
    if (photo !== undefined) return ["photo", caption];
    return document === undefined ? text : ["document", caption];
  });
}

/** The called methods, without polls. */
export function methods(telegram: LocalBotApi): readonly string[] {
  return telegram.calls.map(({ method }) => method).filter((method) => method !== "getUpdates");
}

/** Byte for byte; a matcher would take a second for it. */
export function isSame(bytes: Uint8Array | undefined, expected: Uint8Array): boolean {
  return bytes !== undefined && Buffer.compare(bytes, expected) === 0;
}

/** A directory until the test has ended. */
export function scratch(): string {
  const dir = mkdtempSync(join(tmpdir(), "sessile-gateway-test-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

/** A gateway, and the Bot API that it talks to. */
export interface RunningGateway extends AsyncDisposable {
  readonly telegram: LocalBotApi;
  readonly inbox: Inbox;
  readonly problems: readonly string[];
  /** Resolves or rejects as runGateway does. */
  readonly ended: Promise<void>;
  /** Resolves when these updates are done. */
  finished(...updateIds: readonly number[]): Promise<void>;
  /** Stops the gateway and its inbox; the Bot API and the directory stay. */
  stop(): Promise<void>;
}

/** Starts a gateway in a new directory, or in that of an earlier gateway. */
export async function startGateway(
  options: {
    readonly agent?: TetherAgent;
    readonly clock?: Clock;
    readonly telegram?: LocalBotApi;
    readonly dir?: string;
    readonly api?: BotApi;
  } & Pick<GatewayOptions, "mayWrite"> = {},
): Promise<RunningGateway> {
  const { agent = echo, clock = instantClock(), mayWrite } = options;
  const telegram = options.telegram ?? (await startLocalBotApi());
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), "sessile-gateway-test-"));
  const inbox = await openInbox(dir);
  const stop = new AbortController();
  const problems: string[] = [];
  const ended = runGateway({
    api: options.api ?? botApi(telegram),
    agent,
    inbox,
    clock,
    signal: stop.signal,
    onProblem: (problem) => problems.push(problem),
    ...(mayWrite === undefined ? {} : { mayWrite }),
  });
  ended.catch(() => undefined);
  async function end(): Promise<void> {
    stop.abort();
    await ended.catch(() => undefined);
    await inbox.close();
  }
  return {
    telegram,
    inbox,
    problems,
    ended,
    async finished(...updateIds) {
      const open = () =>
        updateIds.some((id) => !inbox.has(id) || inbox.waiting.some(({ updateId }) => updateId === id));
      while (open()) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    stop: end,
    async [Symbol.asyncDispose]() {
      await end();
      if (options.telegram === undefined) await telegram[Symbol.asyncDispose]();
      if (options.dir === undefined) await rm(dir, { recursive: true });
    },
  };
}
