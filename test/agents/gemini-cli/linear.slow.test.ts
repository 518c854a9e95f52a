import { gemini } from "sessile/gemini-cli";
import { importSession, toAtif } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { exponentOfAsync, growing, maxExponent } from "../../support/growth.js";
import { call, chatPath, header, lines, reply, response, user } from "./chat-log.js";
import { chain, said } from "./written-session.js";

const many = (size: number, make: (at: number) => readonly unknown[]) =>
  lines([header(), ...Array.from({ length: size }, (_, at) => make(at)).flat()]);

const logs: Readonly<Record<string, (size: number) => Uint8Array>> = {
  "messages with calls": (size) =>
    many(size, (at) => [
      user(`u${at}`, "go"),
      reply(`g${at}`, "", { toolCalls: [call(`c${at}`, [response(`c${at}`, "out")])] }),
      user(`f${at}`, [response(`c${at}`, "out")]),
    ]),
  "states of one message": (size) => many(size, (at) => [reply("g", `state ${at}`)]),
  "responses without ids to calls of one name": (size) =>
    lines([
      header(),
      reply(
        "g",
        Array.from({ length: size }, () => ({ functionCall: { name: "t", args: {} } })),
      ),
      user(
        "f",
        Array.from({ length: size }, () => ({ functionResponse: { name: "t", response: { output: "x" } } })),
      ),
    ]),
  "rewinds behind a compaction": (size) => {
    const ids = Array.from({ length: size }, (_, at) => `u${at}`);
    const all = ids.map((id) => user(id, "x"));
    return lines([
      header(),
      ...all,
      user("gone", "x"),
      { $set: { messages: [user("s", "<state_snapshot>s</state_snapshot>"), ...all] } },
      ...ids.toReversed().map((id) => ({ $rewindTo: id })),
    ]);
  },
  "checkpoints that drop all": (size) =>
    many(size, (at) => [user(`u${at}`, "x"), { $set: { messages: [] } }, { $rewindTo: "unknown" }]),
};

describe("linear time", () => {
  it.each(Object.keys(logs))("import: %s", async (name) => {
    const exponent = await exponentOfAsync(
      growing(400),
      logs[name] as (size: number) => Uint8Array,
      (bytes) => importSession([{ path: chatPath, bytes }], { from: gemini, keep: "none" }),
    );
    expect(exponent).toBeLessThan(maxExponent);
  });

  it("trajectory", async () => {
    const exponent = await exponentOfAsync(
      growing(400),
      (size) => chain(Array.from({ length: size }, (_, at) => said(`message ${at}`))),
      (source) => toAtif(source),
    );
    expect(exponent).toBeLessThan(maxExponent);
  });
});
