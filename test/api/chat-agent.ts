// The chat agent of the design, but for compaction: its place is a parameter, and becomes an import with that module.
import type Anthropic from "@anthropic-ai/sdk";
import { ingest } from "sessile/attachments";
import { readLocalFile } from "sessile/attachments/node";
import { fileBlobStore } from "sessile/blobs/node";
import { toolCalls, toolResult, userMessage } from "sessile/content";
import { project } from "sessile/projections";
import { anthropicMessages, readAnthropicReply } from "sessile/projections/anthropic";
import type { Session } from "sessile/session";
import { fileSessionStore } from "sessile/session/node";

export interface ChatOptions {
  readonly client: Anthropic;
  readonly model: string;
  readonly dir: string;
  readonly cwd: string;
  readonly image: string;
  readonly warn: (code: string, line: number) => void;
}

export async function chat({ client, model, dir, cwd, image, warn }: ChatOptions): Promise<Session> {
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
      const request = await project(await session.context(), anthropicMessages({ model }), { blobs });
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
