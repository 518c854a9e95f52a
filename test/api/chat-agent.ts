// The chat agent of the design; what it leaves to its surroundings is a parameter.
import type Anthropic from "@anthropic-ai/sdk";
import { project, type Session, toolCalls, toolResult, userMessage } from "sessile";
import { anthropicMessages, readAnthropicReply } from "sessile/anthropic";
import { ingest } from "sessile/attachments";
import { compact, contextTokens, type Generate, rollingSummary } from "sessile/compaction";
import { fileBlobStore, fileSessionStore, readLocalFile } from "sessile/node";

export interface ChatOptions {
  readonly client: Anthropic;
  readonly model: string;
  readonly window: number;
  readonly dir: string;
  readonly cwd: string;
  readonly image: string;
  readonly warn: (code: string, line: number) => void;
}

const strategy = rollingSummary();

export async function chat({ client, model, window, dir, cwd, image, warn }: ChatOptions): Promise<Session> {
  const ask: Generate = async ({ system, text }, { signal, maxTokens }) => {
    const reply = await client.messages.create(
      { model, max_tokens: maxTokens, system, messages: [{ role: "user", content: text }] },
      { signal },
    );
    const answer = reply.content.map((block) => (block.type === "text" ? block.text : "")).join("");
    const { usage } = readAnthropicReply(reply);
    return { text: answer, ...(usage && { usage }) };
  };
  const blobs = fileBlobStore({ dir: `${dir}/blobs` });
  const sessions = fileSessionStore({ dir: `${dir}/sessions` });
  const recent = await sessions.latest({ cwd });
  const session = recent ? await sessions.open(recent.id, { mode: "write" }) : await sessions.create({ cwd });
  try {
    for (const { code, line } of session.diagnostics) warn(code, line);
    await session.appendMessage(
      userMessage("What is wrong?", await ingest(await readLocalFile(image), { blobs })),
    );
    for (;;) {
      const context = await session.context();
      if (strategy.shouldCompact(context, { window, tokens: contextTokens(context) })) {
        await compact(session, { strategy, window, generate: ask });
        continue;
      }
      const request = await project(context, anthropicMessages({ model }), { blobs });
      let reply: Anthropic.Message;
      try {
        reply = await client.messages.create({ model, max_tokens: 4096, ...request.value });
      } catch (error) {
        const fault = request.explain(error);
        if (!fault) throw error;
        await session.append(fault.drafts);
        continue;
      }
      const message = readAnthropicReply(reply);
      await session.appendMessage(message);
      const calls = toolCalls(message);
      if (calls.length === 0) break;
      await session.append(calls.map((call) => ({ type: "message", message: toolResult(call, "ok") })));
    }
  } finally {
    await session.close();
  }
  return session;
}
