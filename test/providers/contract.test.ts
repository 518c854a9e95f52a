import fc from "fast-check";
import {
  assistantMessage,
  type ContextMessage,
  compareContracts,
  contextFrom,
  type PromptContract,
  project,
  promptContract,
  userMessage,
} from "sessile";
import { describe, expect, test } from "vitest";
import { png } from "../attachments/samples.js";
import { plainTarget, pngOf, stored, storeOf } from "./samples.js";

const maker = { provider: "p", model: "m" };
const said = (text: string) => assistantMessage(maker, text);
const system = (content: string): ContextMessage => ({ role: "system", content, timestamp: 0 });
const options = { version: "1", model: "m" };

async function contract(messages: readonly ContextMessage[], more: object = {}): Promise<PromptContract> {
  const picture = png();
  const projection = await project(contextFrom(messages), plainTarget(), { blobs: storeOf(picture) });
  return promptContract(projection, { ...options, ...more });
}

const history = [system("be brief"), userMessage("a"), said("b"), userMessage("c")];

describe("promptContract", () => {
  test("is made of digests, and JSON-safe", async () => {
    const made = await contract(history, { tools: [{ name: "t" }] });
    expect(JSON.parse(JSON.stringify(made))).toEqual(made);
    expect(made).toMatchObject({ version: "1", target: "plain", model: "m" });
    for (const digest of [made.tools, made.system, made.family, ...made.turns])
      expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(made.turns).toHaveLength(3);
  });

  test("is the same for the same, whatever entries it comes from", async () => {
    const shifted = [
      {
        role: "bashExecution",
        excludeFromContext: true,
        command: "x",
        output: "",
        cancelled: false,
        truncated: false,
        timestamp: 9,
      } as const,
      ...history,
    ];
    expect(await contract(shifted)).toEqual(await contract(history));
  });

  // @covers R31
  test("a family is all but the turns", async () => {
    const { family } = await contract(history);
    expect((await contract([...history, said("d")])).family).toBe(family);
    expect((await contract([system("be long"), ...history.slice(1)])).family).not.toBe(family);
    for (const more of [{ version: "2" }, { model: "n" }, { tools: [1] }]) {
      expect((await contract(history, more)).family).not.toBe(family);
    }
  });

  test("an attachment counts by what is sent of it", async () => {
    const shot = stored(png());
    const [first, again] = [await contract([userMessage(shot)]), await contract([userMessage(shot)])];
    expect(again).toEqual(first);
    const missing = await project(contextFrom([userMessage(shot)]), plainTarget());
    expect(promptContract(missing, options).turns).not.toEqual(first.turns);
  });

  test("an upload counts by its name, whenever it expires and wherever it came from", async () => {
    const target = plainTarget({ accepts: { user: ["image/png"], toolResult: [], references: ["file"] } });
    const turnsOf = async (id: string, expiresAt?: number) => {
      const reference = { kind: "file", id, ...(expiresAt === undefined ? {} : { expiresAt }) } as const;
      const projection = await project(contextFrom([userMessage(stored(png()))]), target, {
        references: { get: () => reference },
        now: () => 0,
      });
      return promptContract(projection, options).turns;
    };
    expect(await turnsOf("f", 1e9)).toEqual(await turnsOf("f", 2e9));
    expect(await turnsOf("f", 1e9)).toEqual(await turnsOf("f"));
    expect(await turnsOf("f")).not.toEqual(await turnsOf("g"));
  });

  test("what an image was resized to counts, not what it was", async () => {
    const large = pngOf({ width: 9000, height: 9 });
    const target = plainTarget({ accepts: { user: ["image/png"], toolResult: [] } });
    const bmp = Uint8Array.of(0x42, 0x4d, 0, 1, 2);
    const sent = async (made: Uint8Array) => {
      const context = contextFrom([userMessage(stored(bmp, { mediaType: "image/bmp" }))]);
      const projection = await project(context, target, { blobs: storeOf(bmp), resize: () => made });
      return promptContract(projection, options).turns;
    };
    expect(await sent(large)).not.toEqual(await sent(pngOf({ width: 9001, height: 9 })));
    expect(await sent(large)).toEqual(await sent(Uint8Array.from(large)));
  });
});

describe("compareContracts", () => {
  test("with nothing changed, the earlier request is a prefix of the later one", async () => {
    const before = await contract(history);
    expect(compareContracts(before, before)).toEqual({ changed: [], sharedTurns: 3 });
    const after = await contract([...history, said("d"), userMessage("e")]);
    expect(compareContracts(before, after)).toEqual({ changed: [], sharedTurns: 3 });
  });

  // @covers R31
  test("says what is different, and from where on", async () => {
    const before = await contract(history);
    const edited = await contract([system("be brief"), userMessage("a"), said("B"), userMessage("c")]);
    expect(compareContracts(before, edited)).toEqual({ changed: ["turns"], sharedTurns: 1 });
    expect(compareContracts(before, await contract(history.slice(0, 3)))).toEqual({
      changed: ["turns"],
      sharedTurns: 2,
    });
    const longer = await contract([...history, userMessage("and")]);
    expect(compareContracts(before, longer)).toEqual({ changed: ["turns"], sharedTurns: 2 });
    const other = await contract(history, { version: "2", tools: [1] });
    expect(compareContracts(before, other)).toEqual({ changed: ["version", "tools"], sharedTurns: 0 });
  });

  test("shares as many turns as are the same from the first on", () => {
    const turn = fc.constantFrom("a", "b");
    const digests = { version: "1", target: "t", model: "m", tools: "", system: "", family: "" };
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 6 }), fc.array(turn, { maxLength: 6 }), (first, second) => {
        const { changed, sharedTurns } = compareContracts(
          { ...digests, turns: first },
          { ...digests, turns: second },
        );
        expect(second.slice(0, sharedTurns)).toEqual(first.slice(0, sharedTurns));
        expect(sharedTurns === first.length || first[sharedTurns] !== second[sharedTurns]).toBe(true);
        expect(changed).toEqual(sharedTurns === first.length ? [] : ["turns"]);
      }),
    );
  });
});
