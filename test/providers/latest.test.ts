import {
  assistantMessage,
  type ContextMessage,
  contextFrom,
  type NeutralRequest,
  project,
  type Target,
  toolResult,
  userMessage,
} from "sessile";
import { describe, expect, test } from "vitest";

const target: Target<NeutralRequest> = {
  name: "keeps-its-own",
  model: { provider: "p", model: "m" },
  rules: { history: "latest", userFirst: false },
  render: (request) => request,
};

const said = (text: string) => assistantMessage({ provider: "p", model: "m" }, text);
const call = { type: "toolCall" as const, id: "c1", name: "read", arguments: {} };
const called = assistantMessage({ provider: "p", model: "m" }, call);
const bash = (command: string, hidden = false): ContextMessage => ({
  role: "bashExecution",
  command,
  output: "",
  cancelled: false,
  truncated: false,
  ...(hidden ? { excludeFromContext: true } : {}),
  timestamp: 1,
});
const system: ContextMessage = { role: "system", content: "Be brief.", timestamp: 1 };

async function latestOf(...messages: readonly ContextMessage[]) {
  const { value, losses, byPolicy, warnings } = await project(contextFrom(messages), target);
  const texts = value.turns.flatMap(({ parts }) => parts.map((part) => ("text" in part ? part.text : "")));
  return {
    system: value.system,
    turns: value.turns.length,
    texts,
    lost: [...losses, ...byPolicy].map(({ code, entryId }) => `${code} ${entryId}`),
    warnings: warnings.map(({ code }) => code),
  };
}

describe("a target that keeps its own history", () => {
  test("is told what the user's side said since the model spoke", async () => {
    const latest = await latestOf(
      system,
      userMessage("1"),
      said("2"),
      bash("ls"),
      bash("rm", true),
      userMessage("3"),
    );
    expect(latest).toMatchObject({
      system: [],
      turns: 1,
      lost: ["notRepeated m0", "notRepeated m1", "notRepeated m2"],
    });
    expect(latest.texts).toEqual([expect.stringContaining("$ ls"), "3"]);
  });

  test("is not told results, nor anything that was found of what is not told", async () => {
    const unsaid = await latestOf(
      userMessage("1"),
      called,
      userMessage("2\ud83d"),
      said("3\ud83d"),
      toolResult(call),
      userMessage("4"),
    );
    expect(unsaid).toMatchObject({
      texts: ["4"],
      lost: ["m0", "m1", "m2", "m3", "m4"].map((id) => `notRepeated ${id}`),
    });
    const between = await latestOf(userMessage("1"), called, toolResult(call, "x"), userMessage("2"));
    expect(between).toMatchObject({
      texts: ["2"],
      lost: ["m0", "m1", "m2"].map((id) => `notRepeated ${id}`),
    });
  });

  test("is told the question again where the model has answered it", async () => {
    const answered = await latestOf(
      userMessage("1"),
      said("2"),
      userMessage("3"),
      called,
      toolResult(call, "x"),
    );
    expect(answered).toMatchObject({ texts: ["3"], turns: 1 });
  });

  test("is not told an earlier question because nothing of the answer can be told", async () => {
    const thought = assistantMessage({ provider: "q", model: "m" }, { type: "thinking", thinking: "Hm." });
    expect((await latestOf(userMessage("1"), thought, userMessage("2"))).texts).toEqual(["2"]);
  });

  test("is told that there is nothing where the user said nothing", async () => {
    expect(await latestOf(said("1"))).toMatchObject({
      texts: ["[There is nothing to show yet.]"],
      lost: ["notRepeated m0"],
      warnings: ["empty"],
    });
  });
});
