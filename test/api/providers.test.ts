import {
  assistantMessage,
  memoryBlobStore,
  memorySessionStore,
  type Projection,
  project,
  type Session,
  type Target,
  type ToolCall,
  toolResult,
  userMessage,
} from "sessile";
import { acpPrompt } from "sessile/acp";
import { anthropicMessages } from "sessile/anthropic";
import { ingest } from "sessile/attachments";
import { bedrockConverse } from "sessile/bedrock";
import { claudeAgentMessages } from "sessile/claude-agent";
import { codexExec } from "sessile/codex";
import { geminiContents, geminiInteractions } from "sessile/gemini";
import { openaiChat, openaiResponses } from "sessile/openai";
import { beforeAll, describe, expect, test } from "vitest";
import { makePdf, makePng } from "../../examples/apps/support/make-media.js";

const claude = "claude-opus-5-5";
const gpt = "gpt-5.4";
const chat: Readonly<Record<string, Target<object>>> = {
  anthropicMessages: anthropicMessages({ model: claude }),
  openaiChat: openaiChat({ model: gpt }),
  openaiResponses: openaiResponses({ model: gpt }),
  geminiContents: geminiContents({ model: "gemini-3-pro" }),
  geminiInteractions: geminiInteractions({ model: "gemini-3-pro" }),
  bedrockConverse: bedrockConverse({ model: "anthropic.claude-opus-5-5" }),
};
const hosts: Readonly<Record<string, Target<object>>> = {
  acpPrompt: acpPrompt({ capabilities: { image: true, embeddedContext: true } }),
  claudeAgentMessages: claudeAgentMessages(),
  codexExec: codexExec({ imagePath: ({ resource }) => resource && `/blobs/${resource.contentSha256}` }),
};

const blobs = memoryBlobStore();
let session: Session;
const projections = new Map<string, Projection<object>>();

/** Two models, attachments, calls in parallel, one of them never answered, an image that is too wide, and a view. */
async function fill(): Promise<void> {
  const [first, second] = [
    { provider: "anthropic", model: claude, api: "anthropic-messages" },
    { provider: "openai", model: gpt, api: "openai-responses" },
  ];
  const call = (id: string, name: string): ToolCall => ({
    type: "toolCall",
    id,
    name,
    arguments: { of: name },
  });
  const [look, count] = [call("toolu_01", "screenshot"), call("toolu_02", "count")];
  const [search, forgotten] = [call("call_1|fc_1", "search"), call("call_2|fc_2", "search")];
  const shot = await ingest({ bytes: makePng(320, 200), name: "before.png" }, { blobs });
  const paper = await ingest({ bytes: makePdf(), name: "paper.pdf" }, { blobs });
  const after = await ingest({ bytes: makePng(200, 100), name: "after.png" }, { blobs });
  const wide = await ingest({ bytes: makePng(9000, 8), name: "panorama.png" }, { blobs });
  const thinking = {
    type: "thinking",
    thinking: "Again.",
    thinkingSignature: "c2lnbmVkIGJ5IENsYXVkZQ==",
  } as const;
  const messages = [
    { role: "system", content: "You compare pictures.", timestamp: 0 },
    { ...userMessage("What changed?", shot, paper), name: "Alice" },
    assistantMessage(first, thinking, "Let me look. ", look, count),
    toolResult(count, "2"),
    toolResult(look, "This is it now:", after),
    assistantMessage(second, "It became smaller.", search, forgotten),
    toolResult(search, "nothing found"),
    userMessage("And this one?", wide),
  ] as const;
  await session.append(messages.map((message) => ({ type: "message", message })));
  // Both are of earlier turns by now: this brings one of them back.
  await session.append([{ type: "resource_view", resourceId: after.resourceId }]);
}

beforeAll(async () => {
  session = await memorySessionStore().create({ cwd: "/work" });
  await fill();
  const context = await session.context();
  for (const [name, target] of Object.entries({ ...chat, ...hosts })) {
    projections.set(name, await project(context, target, { blobs }));
  }
});

const codes = (name: string) => {
  const { losses = [], byPolicy = [] } = projections.get(name) ?? {};
  return new Set([...losses, ...byPolicy].map(({ code }) => code));
};

describe("one session for every provider", () => {
  test.each(Object.keys(chat))("%s: a call without a result has one that says so", (name) => {
    expect(codes(name)).toContain("interrupted");
  });

  test.each(Object.entries(chat))(
    "%s: a picture of an earlier turn is described, and no loss",
    (name, target) => {
      const reports = projections.get(name)?.attachments ?? [];
      const isDescribed = reports.some(
        ({ sent, reason }) => sent === "descriptor" && reason === "earlierTurn",
      );
      // A model that binds its reasoning has it as it was first sent.
      expect(isDescribed).toBe(target.rules?.bindsReasoning !== true);
    },
  );

  test("a picture that is too wide is described for the providers that refuse it", () => {
    const tooWide = Object.keys(chat).filter((name) => codes(name).has("overLimit"));
    expect(tooWide).toEqual(["anthropicMessages", "geminiContents", "geminiInteractions", "bedrockConverse"]);
  });

  test("reasoning goes back to the model that made it, and to no other", () => {
    expect(codes("openaiChat")).toContain("reasoning");
  });

  test("a result's picture stands behind the results of Chat Completions, and within those of Responses", () => {
    expect(codes("openaiChat")).toContain("moved");
    expect(codes("openaiResponses")).not.toContain("moved");
  });

  test.each(Object.keys(hosts))("%s keeps the history itself and gets what is new", (name) => {
    expect(codes(name)).toContain("notRepeated");
  });

  test("a refusal is traced to its entry, and the next request goes without the cause", async () => {
    const target = anthropicMessages({ model: claude });
    const request = await project(await session.context(), target, { blobs });
    const turn = request.value.messages.findIndex(({ content }) =>
      JSON.stringify(content).includes('"image"'),
    );
    const message = `messages.${turn}.content.0: Could not process image`;
    const fault = request.explain({ status: 400, message });
    expect(fault).toMatchObject({ block: 1, resourceId: expect.stringMatching(/^res_/) });
    await session.append(fault?.drafts ?? []);
    const again = await project(await session.context(), target, { blobs });
    const sent = again.attachments.filter(({ sent }) => sent === "bytes").map(({ resourceId }) => resourceId);
    expect(sent).not.toContain(fault?.resourceId);
  });
});
