// One session for every provider: the request that each gets, and the losses on the way.
//
//   npx tsx examples/04-providers.ts                a session of two models, with attachments and an unanswered call
//   npx tsx examples/04-providers.ts FILE.jsonl     any session file, pi's too; it is only read
//
// The sample session is sent to each provider whose key is in ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY. Without the
// first, a script answers for Claude. ANTHROPIC_MODEL, OPENAI_MODEL and GEMINI_MODEL are optional.
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import {
  type AssistantMessage,
  assistantMessage,
  type Loss,
  messageText,
  type Projection,
  project,
  type Session,
  type Target,
  type ToolCall,
  toBody,
  toolResult,
  userMessage,
} from "sessile";
import { acpPrompt } from "sessile/acp";
import { aiSdkMessages } from "sessile/ai-sdk";
import { anthropicMessages, readAnthropicReply } from "sessile/anthropic";
import { ingest } from "sessile/attachments";
import { bedrockConverse } from "sessile/bedrock";
import { claudeAgentMessages } from "sessile/claude-agent";
import { codexExec } from "sessile/codex";
import { SessileError } from "sessile/errors";
import { geminiContents, geminiInteractions, readGeminiReply } from "sessile/gemini";
import { mcpContent } from "sessile/mcp";
import { fileBlobStore, fileSessionStore, openSessionFile } from "sessile/node";
import { openaiChat, openaiResponses, readOpenaiResponsesReply } from "sessile/openai";
import { claudeClient } from "./support/offline-claude.js";

const claude = process.env.ANTHROPIC_MODEL ?? "claude-opus-5-5";
const gpt = process.env.OPENAI_MODEL ?? "gpt-5.4";
const gemini = process.env.GEMINI_MODEL ?? "gemini-3-pro";
const targets: Readonly<Record<string, Target<object>>> = {
  anthropicMessages: anthropicMessages({ model: claude }),
  openaiChat: openaiChat({ model: gpt }),
  openaiResponses: openaiResponses({ model: gpt }),
  geminiContents: geminiContents({ model: gemini }),
  geminiInteractions: geminiInteractions({ model: gemini }),
  bedrockConverse: bedrockConverse({ model: "anthropic.claude-opus-5-5" }),
  aiSdkMessages: aiSdkMessages({ model: { provider: "anthropic.messages", modelId: claude } }),
  mcpContent: mcpContent(),
  acpPrompt: acpPrompt({ capabilities: { image: true, embeddedContext: true } }),
  claudeAgentMessages: claudeAgentMessages(),
  // Codex reads images from files.
  codexExec: codexExec({ imagePath: ({ resource }) => resource && `/blobs/${resource.contentSha256}` }),
};

const dir = await mkdtemp(join(tmpdir(), "sessile-providers-"));
const blobs = fileBlobStore({ dir });
const [file] = process.argv.slice(2);
try {
  await using session = file === undefined ? await sampleSession() : await openSessionFile(file);
  await printFacts(session);
  await printProjections(session);
  if (file === undefined) await askAll(session);
  const request = `--target gemini --model ${gemini} --blobs ${dir}`;
  console.log(`\nlook: npx sessile project ${session.location} ${request}`);
} catch (error) {
  // A file that is none, or no session: one line is enough.
  if (!(error instanceof SessileError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

/** A session that began with Claude and went on with GPT: attachments of two turns, calls in parallel, one never answered. */
async function sampleSession(): Promise<Session> {
  const session = await fileSessionStore({ dir: join(dir, "sessions") }).create({ cwd: process.cwd() });
  const [first, second] = [
    { provider: "anthropic", model: claude, api: "anthropic-messages" },
    { provider: "openai", model: gpt, api: "openai-responses" },
  ];
  const attached = async (name: string) =>
    ingest({ bytes: await readFile(join(import.meta.dirname, "files", name)), name }, { blobs });
  const call = (id: string, name: string): ToolCall => ({
    type: "toolCall",
    id,
    name,
    arguments: { of: name },
  });
  const [look, count, search, forgotten] = [
    ...[call("toolu_01", "screenshot"), call("toolu_02", "count")],
    ...[call("call_1|fc_1", "search"), call("call_2|fc_2", "search")],
  ] as const;
  const thinking = {
    type: "thinking",
    thinking: "I look again.",
    thinkingSignature: "c2lnbmVkIGJ5IENsYXVkZQ==",
  } as const;
  const screen = await attached("screen.png");
  const messages = [
    { role: "system", content: "You compare pictures.", timestamp: Date.now() },
    { ...userMessage("What changed?", screen, await attached("paper.pdf")), name: "Alice" },
    assistantMessage(first, thinking, "Let me look.", look, count),
    toolResult(count, "2"),
    toolResult(look, "This is it now:", screen),
    assistantMessage(second, "It became smaller.", search, forgotten),
    toolResult(search, "nothing found"),
    userMessage("And what do you see here?", screen),
  ] as const;
  await session.append(messages.map((message) => ({ type: "message", message })));
  return session;
}

async function printFacts(session: Session): Promise<void> {
  const { items, model } = await session.context();
  console.log(`session    ${words(session.info.name ?? session.id, 80)}`);
  console.log(`entries    ${(await session.tree()).size}`);
  console.log(`branches   ${(await session.leaves()).length}`);
  console.log(
    `in context ${items.length} messages, last of ${model === null ? "no model" : words(`${model.provider}/${model.modelId}`, 80)}`,
  );
  const diagnostics = await session.diagnose();
  console.log(`problems   ${diagnostics.length === 0 ? "none" : diagnostics.length}`);
  for (const { line, code, message } of diagnostics.slice(0, 10))
    console.log(`  line ${line} ${code}: ${words(message, 90)}`);
}

async function printProjections(session: Session): Promise<void> {
  const context = await session.context();
  const projections = new Map<string, Projection<object>>();
  console.log("\ntarget                 bytes  tokens images  losses");
  for (const [name, target] of Object.entries(targets)) {
    const projection = await project(context, target, { blobs });
    projections.set(name, projection);
    // Losses are forced by the target or the history, byPolicy are chosen, such as a history that the host keeps itself.
    const { losses, byPolicy, usage } = projection;
    const numbers = [
      String(toBody(projection).size).padStart(9),
      String(usage.total).padStart(7),
      String(usage.imageCount).padStart(6),
    ];
    console.log(`${name.padEnd(19)}${numbers.join(" ")}  ${counted([...losses, ...byPolicy])}`);
  }
  for (const name of ["anthropicMessages", "openaiChat"]) {
    console.log(`\nLosses of ${name}, as ENTRY/BLOCK code (cause) reason: replacement`);
    for (const { entryId, block, code, by, reason, instead } of projections.get(name)?.losses.slice(0, 20) ??
      []) {
      const place = block === undefined ? entryId : `${entryId}/${block}`;
      console.log(
        `  ${words(`${place} ${code} (${by}) ${reason}${instead === undefined ? "" : `: ${instead}`}`, 120)}`,
      );
    }
  }
}

function counted(losses: readonly Loss[]): string {
  const counts = new Map<string, number>();
  for (const { code } of losses) counts.set(code, (counts.get(code) ?? 0) + 1);
  return [...counts].map(([code, count]) => (count === 1 ? code : `${count} ${code}`)).join(", ");
}

/** Sends the session to every provider that there is a key for. */
async function askAll(session: Session): Promise<void> {
  const anthropic = claudeClient(() => ["A red box below a blue bar."]);
  await ask(session, anthropicMessages({ model: claude }), async (value) =>
    readAnthropicReply(await anthropic.messages.create({ model: claude, max_tokens: 1024, ...value }), {
      model: claude,
    }),
  );
  if (process.env.OPENAI_API_KEY) {
    await ask(session, openaiResponses({ model: gpt }), async (value) => {
      const include = ["reasoning.encrypted_content" as const];
      const reply = await new OpenAI().responses.create({ model: gpt, store: false, include, ...value });
      return readOpenaiResponsesReply(reply, { model: gpt });
    });
  }
  if (process.env.GEMINI_API_KEY) {
    const client = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY });
    await ask(session, geminiContents({ model: gemini }), async ({ contents, ...config }) =>
      readGeminiReply(await client.models.generateContent({ model: gemini, contents, config }), {
        model: gemini,
      }),
    );
  }
}

/** Asks once; if the provider refuses an attachment or a message, excludes it from the context and asks again. */
async function ask<V>(
  session: Session,
  target: Target<V>,
  send: (value: V) => Promise<AssistantMessage>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const request = await project(await session.context(), target, { blobs });
    try {
      const answer = await send(request.value);
      console.log(`\n${answer.provider} ${answer.model} says: ${words(messageText(answer), 500)}`);
      return;
    } catch (error) {
      const cause = request.explain(error);
      if (cause === undefined || attempt === 4) throw error;
      console.log(
        `\n${request.target} refuses entry ${cause.entryId}, block ${cause.block}: ${words(cause.message, 120)}`,
      );
      await session.append(cause.drafts);
    }
  }
}

/** A text from a file or a provider, on one line and without control characters. */
function words(text: string, max: number): string {
  return text
    .slice(0, 8 * max)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, max);
}
