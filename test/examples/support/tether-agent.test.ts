import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { resourcesIn } from "sessile/attachments";
import { assistantMessage, type Context, type ToolCall, userMessage } from "sessile/content";
import { type Session, toolStarted } from "sessile/session";
import {
  type CheckedUserMessage,
  checkFrame,
  outgoingImages,
  type TetherSession,
  tetherImage,
  tetherSessionId,
  userMessageFrame,
} from "sessile/tether";
import { describe, expect, it } from "vitest";
import { agentHome } from "../../../examples/support/agent-home.js";
import { imageTools } from "../../../examples/support/image-tools.js";
import { messageText } from "../../../examples/support/message-text.js";
import type { Model } from "../../../examples/support/model.js";
import { type AnswerFrame, tetherAgent } from "../../../examples/support/tether-agent.js";
import { base64, gif, pdf, png } from "../../attachments/samples.js";
import { temporaryDirectory } from "../../session/node/temporary-directory.js";
import { pngOf, to } from "../../tether/samples.js";

const model = { provider: "scripted", model: "scripted-1" };

function message(text: string, images: readonly Uint8Array[] = [], session: TetherSession = to) {
  const frame = userMessageFrame(session, { text, images: images.map(tetherImage) });
  return checkFrame(JSON.parse(JSON.stringify(frame))) as CheckedUserMessage;
}

/** What a model is to say, one after the other: text, calls, or a failure. */
function saying(
  ...turns: readonly (readonly (string | ToolCall)[] | Error)[]
): Model & { contexts: Context[] } {
  const contexts: Context[] = [];
  return {
    contexts,
    async generate(context) {
      const parts = turns[contexts.length] ?? ["Yes."];
      contexts.push(context);
      if (parts instanceof Error) throw parts;
      return assistantMessage(model, ...parts);
    },
  };
}

const echo: Model = {
  generate: async ({ items }) =>
    assistantMessage(model, `You said: ${messageText((items.at(-1) as (typeof items)[0]).message)}`),
};

async function all(frames: AsyncIterable<AnswerFrame>): Promise<AnswerFrame[]> {
  const list: AnswerFrame[] = [];
  for await (const frame of frames) list.push(frame);
  return list;
}

const textOf = (frames: readonly AnswerFrame[]) => frames.at(-1)?.payload.text;
const call = (id: string, name: string, args: object): ToolCall => ({
  type: "toolCall",
  id,
  name,
  arguments: args,
});
const agentAt = (dir: string, its: Model, more: object = {}) =>
  tetherAgent({ dir, instance: "a", model: its, ...more });

/** What a session of this directory holds, in short. */
async function heldIn(dir: string, instance = "a", session: TetherSession = to): Promise<readonly string[]> {
  await using held = await agentHome(dir).sessions.open(tetherSessionId(session, instance));
  return (await held.context()).items.map(({ message }) => `${message.role}: ${messageText(message)}`);
}

describe("tetherAgent", () => {
  it("answers with pieces and an end, which share an id that names the message", async () => {
    const asked = message("Hi");
    const frames = await all(
      agentAt(temporaryDirectory(), saying([call("c1", "none", {}), "I look."], ["Hello."])).answer(asked),
    );
    expect(frames.map(({ type, payload }) => [type, payload])).toEqual([
      ["assistant.delta", { text: "I look." }],
      ["assistant.delta", { text: "Hello." }],
      ["assistant.done", { text: "Hello." }],
    ]);
    expect(new Set(frames.map(({ msg_id }) => msg_id))).toEqual(new Set([`re:${asked.frame.msg_id}`]));
    for (const frame of frames) expect(checkFrame(JSON.parse(JSON.stringify(frame))).frame).toEqual(frame);
  });

  it("keeps each conversation in a session of its own, and each instance", async () => {
    const dir = temporaryDirectory();
    const sessions = [
      { channel: "a_b", id: "c" },
      { channel: "a", id: "b_c" },
      { channel: "a", id: "../../etc/passwd" },
    ];
    for (const session of sessions)
      await all(agentAt(dir, echo).answer(message(JSON.stringify(session), [], session)));
    await all(tetherAgent({ dir, instance: "b", model: echo }).answer(message("for b", [], sessions[0])));
    for (const session of sessions) {
      const words = JSON.stringify(session);
      expect(await heldIn(dir, "a", session)).toEqual([`user: ${words}`, `assistant: You said: ${words}`]);
    }
    expect(await heldIn(dir, "b", sessions[0])).toHaveLength(2);
    // None of them lies anywhere else.
    expect(readdirSync(dir)).toEqual(["sessions"]);
  });

  it("answers the messages of a conversation one after the other, and others meanwhile", async () => {
    const gates = new Map<string, () => void>();
    const order: string[] = [];
    const slow: Model = {
      async generate({ items }) {
        const said = messageText((items.at(-1) as (typeof items)[0]).message);
        order.push(`begins ${said}`);
        if (said !== "other") await new Promise<void>((resolve) => gates.set(said, resolve));
        order.push(`ends ${said}`);
        return assistantMessage(model, said);
      },
    };
    const agent = agentAt(temporaryDirectory(), slow);
    const [one, two] = [message("one"), message("two")];
    expect(agent.isBusy(one)).toBe(false);
    const answers = [agent.answer(one), agent.answer(two)].map(all);
    expect(agent.isBusy(two)).toBe(true);
    await all(agent.answer(message("other", [], { channel: "mcp", id: "x" })));
    await until(() => gates.has("one"));
    gates.get("one")?.();
    await until(() => gates.has("two"));
    gates.get("two")?.();
    expect((await Promise.all(answers)).map(textOf)).toEqual(["one", "two"]);
    expect(order.filter((step) => !step.endsWith("other"))).toEqual([
      "begins one",
      "ends one",
      "begins two",
      "ends two",
    ]);
    expect(agent.isBusy(one)).toBe(false);
  });

  it("goes on to the end though nobody reads, and says when the message is sure to last", async () => {
    const dir = temporaryDirectory();
    const agent = agentAt(dir, saying(["First."], ["Second."]));
    const kept: string[] = [];
    agent.answer(message("unread"), { onKept: (id) => kept.push(id) });
    for await (const _ of agent.answer(message("left"))) break;
    await all(agent.answer(message("third")));
    expect(kept).toEqual([expect.stringMatching(/^[0-9a-f]{8}$/)]);
    expect(await heldIn(dir)).toEqual([
      "user: unread",
      "assistant: First.",
      "user: left",
      "assistant: Second.",
      "user: third",
      "assistant: Yes.",
    ]);
  });

  it("says that the model failed, keeps that, and answers the next message", async () => {
    const dir = temporaryDirectory();
    const failing = saying(new Error("529 overloaded\nsecret second line"), ["Here again."]);
    const agent = agentAt(dir, failing);
    expect(textOf(await all(agent.answer(message("Hi"))))).toBe(
      "I could not answer: 529 overloaded secret second line",
    );
    expect(textOf(await all(agent.answer(message("And now?"))))).toBe("Here again.");
    expect(await heldIn(dir)).toEqual([
      "user: Hi",
      "assistant: ",
      "user: And now?",
      "assistant: Here again.",
    ]);
  });

  it("says that it was stopped, however far it had come", async () => {
    const stop = new AbortController();
    const endless: Model = {
      generate: (_context, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
          stop.abort();
        }),
    };
    const agent = agentAt(temporaryDirectory(), endless);
    const stopped = "Stopped before there was an answer.";
    expect(textOf(await all(agent.answer(message("Hi"), { signal: stop.signal })))).toBe(stopped);
    expect(textOf(await all(agent.answer(message("Hi", [png()]), { signal: AbortSignal.abort() })))).toBe(
      stopped,
    );
    const late = agentAt(
      temporaryDirectory(),
      { generate: (_context, { signal }) => rejected(signal) },
      { maxTurnMs: 20 },
    );
    expect(textOf(await all(late.answer(message("Hi"))))).toBe(stopped);
  });

  it("says the code of what else goes wrong, and no path", async () => {
    const dir = temporaryDirectory();
    writeFileSync(join(dir, "sessions"), "a file where a directory is to be");
    const text = textOf(await all(agentAt(dir, echo).answer(message("Hi"))));
    expect(text).toMatch(/^I could not answer: [A-Z_]+\.$/);
    expect(text).not.toContain(dir);
  });

  it("ends a model that calls tools for ever", async () => {
    const again: Model = { generate: async () => assistantMessage(model, call("c", "none", {})) };
    expect(textOf(await all(agentAt(temporaryDirectory(), again).answer(message("Hi"))))).toBe(
      "I still call tools after 20 rounds.",
    );
  });

  it("takes so many messages at a time, and says so to the next one", async () => {
    const agent = agentAt(temporaryDirectory(), saying(), { maxTurns: 2 });
    const answers = [1, 2, 3].map((n) => all(agent.answer(message(`${n}`))));
    const texts = (await Promise.all(answers)).map(textOf);
    expect(texts).toEqual(["Yes.", "Yes.", "Too many messages are waiting. Say it again later."]);
    expect(textOf(await all(agent.answer(message("4"))))).toBe("Yes.");
  });

  it("goes on after a restart in the middle of a tool, and runs nothing again", async () => {
    const dir = temporaryDirectory();
    {
      const { sessions } = agentHome(dir);
      await using session: Session = await sessions.create({ cwd: dir, id: tetherSessionId(to, "a") });
      await session.append([
        { type: "message", message: userMessage("Draw.") },
        { type: "message", message: assistantMessage(model, call("c1", "plot", {}), call("c2", "plot", {})) },
        toolStarted.draft({ toolCallId: "c1" }),
      ]);
    }
    let ran = 0;
    const tools = new Map([["plot", async () => ({ text: `${++ran}` })]]);
    const its = saying(["It was interrupted."]);
    const frames = await all(agentAt(dir, its, { tools }).answer(message("Well?")));
    expect(textOf(frames)).toBe("It was interrupted.");
    expect(ran).toBe(0);
    expect(its.contexts[0]?.items.map(({ message }) => `${message.role}: ${messageText(message)}`)).toEqual([
      "user: Draw.",
      "assistant: ",
      "toolResult: Interrupted: how far it came is unknown.",
      "toolResult: Interrupted: it was not begun.",
      "user: Well?",
    ]);
  });

  it("finds sessions and blobs again after a restart", async () => {
    const dir = temporaryDirectory();
    await all(agentAt(dir, saying()).answer(message("See", [png(4, 5)])));
    const its = saying();
    await all(agentAt(dir, its).answer(message("Again")));
    const [shown] = resourcesIn({ items: its.contexts[0]?.items ?? [] });
    expect(shown).toMatchObject({ kind: "image", mediaType: "image/png", width: 4, height: 5 });
    const { images } = await outgoingImages(shown === undefined ? [] : [shown], agentHome(dir));
    expect(images).toEqual([tetherImage(png(4, 5))]);
  });

  it("gives the model the newest part of a long conversation, in which an image counts 2000 characters", async () => {
    const dir = temporaryDirectory();
    const its = saying();
    const agent = agentAt(dir, its, { maxCharacters: 5_000 });
    for (let n = 0; n < 4; n++) await all(agent.answer(message(`Image ${n}`, [pngOf(200_000, n)])));
    const saidTo = (at: number) =>
      its.contexts[at]?.items.flatMap(({ message }) =>
        message.role === "user" ? [messageText(message).slice(0, 7)] : [],
      );
    expect([0, 1, 2, 3].map(saidTo)).toEqual([
      ["Image 0"],
      ["Image 0", "Image 1"],
      ["Image 1", "Image 2"],
      ["Image 2", "Image 3"],
    ]);
  });

  it("puts the right bytes in the place of a file that is not what its name says", async () => {
    const dir = temporaryDirectory();
    const { blobs } = agentHome(dir);
    const shot = png(6, 7);
    const { ref } = await blobs.put(shot, { mediaType: "image/png" });
    const file = join(dir, "sessions", "blobs", `${ref.slice("sha256:".length)}.png`);
    writeFileSync(file, gif);
    await all(agentAt(dir, saying()).answer(message("See", [shot])));
    expect(readFileSync(file)).toEqual(Buffer.from(shot));
    expect(await blobs.get(ref)).toEqual(shot);
  });

  it.each(["../../etc/passwd", "abc.png", `${"a".repeat(64)}.exe`, ""])(
    "takes no blob by the name %j",
    async (key) => {
      const { blobs } = agentHome(temporaryDirectory());
      for (const name of [key, `sha256:${key}`]) {
        await expect((async () => blobs.get(name as `sha256:${string}`))()).rejects.toThrow();
      }
    },
  );
});

describe("imageTools", () => {
  const made = (path: string, name = "view_image", more: object = {}) => call("c1", name, { path, ...more });
  async function resultOf(dir: string, ...calls: readonly ToolCall[]) {
    const { workspace, blobs } = agentHome(dir);
    mkdirSync(workspace, { recursive: true });
    const its = saying([...calls], ["Here."]);
    const agent = agentAt(dir, its, { tools: imageTools(workspace, blobs) });
    const frames = await all(agent.answer(message("Go")));
    const results = its.contexts[1]?.items.flatMap(({ message }) =>
      message.role === "toolResult" ? [message] : [],
    );
    return { done: frames.at(-1), result: results?.at(-1) };
  }

  it("send a file's image along with the answer, whatever it is called", async () => {
    const dir = temporaryDirectory();
    mkdirSync(join(dir, "workspace"));
    writeFileSync(join(dir, "workspace", "shot.png"), gif);
    const { done, result } = await resultOf(dir, made("shot.png"));
    expect(done?.payload).toEqual({
      text: "Here.",
      images: [{ media_type: "image/gif", data: base64(gif) }],
    });
    expect(result).toMatchObject({
      isError: false,
      content: [{ text: "shot.png, 1 x 1 pixels" }, { resource: { source: "tool" } }],
    });
  });

  it("draw into the workspace, and show what is there", async () => {
    const dir = temporaryDirectory();
    const { done } = await resultOf(dir, made("deep/down/chart.png", "plot", { numbers: "1,2,-3" }));
    const drawn = readFileSync(join(dir, "workspace", "deep", "down", "chart.png"));
    expect(done?.payload).toMatchObject({ images: [tetherImage(drawn)] });
  });

  it("tell what they were asked to show and cannot, without a path of this machine", async () => {
    const dir = temporaryDirectory();
    mkdirSync(join(dir, "workspace"));
    writeFileSync(join(dir, "secret.png"), png());
    writeFileSync(join(dir, "workspace", "paper.png.pdf"), pdf);
    writeFileSync(join(dir, "workspace", "large.png"), pngOf(10 * 2 ** 20 + 1));
    symlinkSync(join(dir, "secret.png"), join(dir, "workspace", "link.png"));
    symlinkSync(dir, join(dir, "workspace", "up"));
    const refused: readonly [ToolCall, RegExp][] = [
      [made("../secret.png"), /FILE_REFUSED/],
      [made(join(dir, "secret.png")), /FILE_REFUSED/],
      [made("link.png"), /FILE_REFUSED/],
      [made("up/secret.png"), /FILE_REFUSED/],
      [made("/etc/passwd"), /FILE_REFUSED/],
      [made("gone.png"), /FILE_REFUSED/],
      [made("paper.png.pdf"), /is no image/],
      [made("large.png"), /LIMIT_EXCEEDED/],
      [made("../out.png", "plot", { numbers: "1" }), /outside the workspace/],
      [made("up/out.png", "plot", { numbers: "1" }), /outside the workspace/],
      [made("a.png", "plot", { numbers: "1;2" }), /expected at most 100 numbers/],
    ];
    for (const [asked, words] of refused) {
      const { done, result } = await resultOf(dir, asked);
      expect(done?.payload).toEqual({ text: "Here." });
      expect(result?.isError).toBe(true);
      const text = messageText(result as NonNullable<typeof result>);
      expect(text).toMatch(words);
      const named = (asked.arguments as { path: string }).path;
      expect(text.replace(named, "")).not.toContain(dir);
    }
    expect(readdirSync(dir).sort()).toEqual(["secret.png", "sessions", "workspace"]);
  });
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2));
}

function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}
