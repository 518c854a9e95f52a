import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assistantMessage, messageText, type Session, toolStarted, userMessage } from "sessile";
import { resourcesIn } from "sessile/attachments";
import {
  assistantDone,
  checkFrame,
  outgoingImages,
  type TetherSession,
  tetherImage,
  tetherLimits,
  tetherSessionId,
} from "sessile/tether";
import { describe, expect, it } from "vitest";
import { agentHome } from "../../../../examples/apps/support/tether-agent.js";
import { gif, png } from "../../../attachments/samples.js";
import { temporaryDirectory } from "../../../session/node/temporary-directory.js";
import { pngOf, to } from "../../../support/tether.js";
import { countingTool, type Said, scriptedModel } from "../../../support/turn.js";
import { agentAt, all, echo, lastTextOf, message, saying, textOf } from "./agent-turns.js";

/** The content of a session of this directory, in short. */
async function heldIn(dir: string, instance = "a", session: TetherSession = to): Promise<readonly string[]> {
  await using held = await agentHome(dir).sessions.open(tetherSessionId(session, instance));
  return (await held.context()).items
    .filter(({ message }) => message.role !== "system")
    .map(({ message }) => `${message.role}: ${messageText(message)}`);
}

describe("what an agent checks itself", () => {
  const { maxImageBytes, maxWireBytes } = tetherLimits;
  const whole = message("Hi", [png()]);
  const withImages = (images: readonly unknown[]) => ({ ...whole, payload: { text: "Hi", images } });
  const small = whole.payload.images?.[0];
  const large = (bytes: number) => ({ media_type: "image/png", data: "A".repeat(Math.ceil(bytes / 3) * 4) });

  // @covers R46
  it.each<[string, unknown, string, RegExp]>([
    ["too many images", withImages(Array(5).fill(small)), "LIMIT_EXCEEDED", /too many images: 5/],
    ["an image too large", withImages([large(maxImageBytes + 3)]), "LIMIT_EXCEEDED", /images\[0\] too large/],
    ["too much together", withImages(Array(3).fill(large(7_100_000))), "LIMIT_EXCEEDED", /large together/],
    ["a body too long", " ".repeat(maxWireBytes + 1), "LIMIT_EXCEEDED", /frame too large/],
    [
      "a text too long",
      { ...whole, payload: { text: "x".repeat(maxWireBytes) } },
      "LIMIT_EXCEEDED",
      /frame too/,
    ],
    [
      "another type",
      withImages([{ ...small, media_type: "image/gif" }]),
      "MEDIA_TYPE_MISMATCH",
      /is image\/png/,
    ],
    ["an answer", assistantDone(to, "Done."), "INVALID_MESSAGE", /user\.message/],
    ["no JSON", "{", "INVALID_MESSAGE", /JSON/],
    ["nothing", undefined, "INVALID_MESSAGE", /frame/],
    [
      "a claim to be checked",
      { kind: "userMessage", frame: whole, images: [] },
      "INVALID_MESSAGE",
      /expected/,
    ],
  ])("refuses %s, and keeps nothing of it", (_name, received, code, words) => {
    const dir = temporaryDirectory();
    let error: unknown;
    try {
      agentAt(dir, echo).answer(received);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code, message: expect.stringMatching(words) });
    expect(readdirSync(dir)).toEqual([]);
  });

  it.each([
    ["bytes", new TextEncoder().encode(JSON.stringify(whole))],
    ["text", JSON.stringify(whole)],
    ["a value", whole],
  ])("takes a message as %s", async (_name, received) => {
    expect(textOf(await all(agentAt(temporaryDirectory(), echo).answer(received)))).toContain("Hi");
  });
});

/** A reply with a text before its call. */
const looking: Said = {
  reply: {
    content: [
      { type: "text", text: "Look.", citations: null },
      { type: "tool_use", id: "c1", name: "none", input: {}, caller: { type: "direct" } },
    ],
  },
};

describe("tetherAgent", () => {
  // @covers R34
  it("answers with pieces and an end, which share an id that names the message", async () => {
    const asked = message("Hi");
    const frames = await all(agentAt(temporaryDirectory(), saying(looking, "Hello.")).answer(asked));
    expect(frames.map(({ type, payload }) => [type, payload])).toEqual([
      ["assistant.delta", { text: "Look." }],
      ["assistant.delta", { text: "Hello." }],
      ["assistant.done", { text: "Hello." }],
    ]);
    expect(new Set(frames.map(({ msg_id }) => msg_id))).toEqual(new Set([`re:${asked.msg_id}`]));
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
    await all(agentAt(dir, echo, { instance: "b" }).answer(message("for b", [], sessions[0])));
    for (const session of sessions) {
      const words = JSON.stringify(session);
      expect(await heldIn(dir, "a", session)).toEqual([`user: ${words}`, `assistant: You said: ${words}`]);
    }
    expect(await heldIn(dir, "b", sessions[0])).toHaveLength(2);
    // No file is anywhere else.
    expect(readdirSync(dir)).toEqual(["sessions"]);
  });

  it("answers the messages of a conversation one after the other, and others meanwhile", async () => {
    const gates = new Map<string, () => void>();
    const order: string[] = [];
    const slow = scriptedModel(async (request) => {
      const said = lastTextOf(request);
      order.push(`begins ${said}`);
      if (said !== "other") await new Promise<void>((resolve) => gates.set(said, resolve));
      order.push(`ends ${said}`);
      return said;
    });
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

  it("takes no message to which every answer would be too long for the wire", async () => {
    const agent = agentAt(temporaryDirectory(), echo);
    const long = message("Hi", [], { channel: "mcp", id: "i".repeat(1001) });
    expect(() => agent.answer(long)).toThrow("session.id: expected at most 1000 characters");
    expect(agent.isBusy(long)).toBe(false);
    const last = message("Hi", [], { channel: "mcp", id: "i".repeat(1000) });
    expect(textOf(await all(agent.answer(last)))).toBe("You said: Hi");
  });

  it("goes on to the end though nobody reads, and says when the message is sure to last", async () => {
    const dir = temporaryDirectory();
    const agent = agentAt(dir, saying("First.", "Second."));
    const kept: string[] = [];
    agent.answer(message("unread"), { onKept: (id) => kept.push(id) });
    for await (const _ of agent.answer(message("left"))) break;
    await all(agent.answer(message("third")));
    expect(kept).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
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
    const failing = saying({ fail: new Error("529 overloaded\nsecret second line") }, "Here again.");
    const agent = agentAt(dir, failing);
    expect(textOf(await all(agent.answer(message("Hi"))))).toBe(
      "I could not answer: 529 overloaded secret second line",
    );
    expect(textOf(await all(agent.answer(message("And now?"))))).toBe("Here again.");
    expect(await heldIn(dir)).toEqual(["user: Hi", "user: And now?", "assistant: Here again."]);
  });

  it("gives text on as it comes, in pieces worth a frame, and keeps what there was of an answer that broke off", async () => {
    const words = Array.from({ length: 300 }, (_, at) => `word${at} `).join("");
    const streaming = saying({ cut: words, error: { message: "the line broke" } });
    const dir = temporaryDirectory();
    const frames = await all(agentAt(dir, streaming).answer(message("Go on")));
    const deltas = frames.slice(0, -1).map(({ payload }) => payload.text);
    expect(deltas.join("")).toBe(words);
    expect(deltas.length).toBeGreaterThan(3);
    expect(deltas.length).toBeLessThan(20);
    expect(textOf(frames)).toBe(`${words}\n\nI could not answer: REPLY_FAILED.`);
    expect(await heldIn(dir)).toEqual(["user: Go on", `assistant: ${words}`]);
  });

  it("says that it was stopped, however far it had come", async () => {
    const stop = new AbortController();
    const endless = scriptedModel(({ signal }) => {
      const ended = rejected(signal);
      stop.abort();
      return ended;
    });
    const agent = agentAt(temporaryDirectory(), endless);
    const stopped = "Stopped before the answer was whole.";
    expect(textOf(await all(agent.answer(message("Hi"), { signal: stop.signal })))).toBe(stopped);
    expect(textOf(await all(agent.answer(message("Hi", [png()]), { signal: AbortSignal.abort() })))).toBe(
      stopped,
    );
    const late = agentAt(
      temporaryDirectory(),
      scriptedModel(({ signal }) => rejected(signal)),
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
    const again = scriptedModel((_request, count) => [["none", `c${count}`]]);
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

  it("goes on after a restart in the middle of a tool, and runs no call twice", async () => {
    const dir = temporaryDirectory();
    const call = (id: string) => ({ type: "toolCall", id, name: "plot", arguments: {} }) as const;
    {
      const { sessions } = agentHome(dir);
      await using session: Session = await sessions.create({ cwd: dir, id: tetherSessionId(to, "a") });
      await session.append([
        { type: "message", message: userMessage("Draw.") },
        {
          type: "message",
          message: assistantMessage({ provider: "p", model: "m" }, call("c1"), call("c2")),
        },
        toolStarted.draft({ toolCallId: "c1" }),
      ]);
    }
    const plot = countingTool("plot");
    const frames = await all(
      agentAt(dir, saying("It was interrupted."), { tools: [plot] }).answer(message("Well?")),
    );
    expect(textOf(frames)).toBe("It was interrupted.");
    // The second call had not begun.
    expect(plot.ran).toEqual(["c2"]);
    expect(await heldIn(dir)).toEqual([
      "user: Draw.",
      "assistant: ",
      expect.stringMatching(/^toolResult: Interrupted: /),
      "toolResult: ran c2",
      "user: Well?",
      "assistant: It was interrupted.",
    ]);
  });

  // @covers R88
  it("finds sessions and blobs again after a restart", async () => {
    const dir = temporaryDirectory();
    await all(agentAt(dir, saying()).answer(message("See", [png(4, 5)])));
    await all(agentAt(dir, saying()).answer(message("Again")));
    await using held = await agentHome(dir).sessions.open(tetherSessionId(to, "a"));
    const [shown] = resourcesIn(await held.context());
    expect(shown).toMatchObject({ kind: "image", mediaType: "image/png", width: 4, height: 5 });
    const { images } = await outgoingImages(shown === undefined ? [] : [shown], agentHome(dir));
    expect(images).toEqual([tetherImage(png(4, 5))]);
  });

  // @covers R66
  it("23. Context windowing: an image counts 2000 characters, and the oldest turns are not sent", async () => {
    const dir = temporaryDirectory();
    const its = saying();
    const agent = agentAt(dir, its, { maxCharacters: 5_000 });
    for (let n = 0; n < 4; n++) await all(agent.answer(message(`Image ${n}`, [pngOf(200_000, n)])));
    const saidTo = (at: number) =>
      [...JSON.stringify(its.requests[at]?.value.messages).matchAll(/"(Image \d)/g)].map(([, said]) => said);
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

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2));
}

function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}
