/**
 * From an editor to a provider: the official SDK of the Agent Client Protocol on both ends, an agent whose
 * conversation is a session, and a provider that says what it sees.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as acp from "@agentclientprotocol/sdk";
import {
  type BlobStore,
  digest,
  project,
  type Resource,
  type Session,
  type SessionStore,
  toolCalls,
  userMessage,
} from "sessile";
import { acpReplay, acpSessionInfo } from "sessile/acp";
import { ingest, resourcesIn, runViewTool, type StoredSource, viewToolName } from "sessile/attachments";
import { fileBlobStore, fileSessionStore, readLocalFile } from "sessile/node";
import { openaiResponses, readOpenaiResponsesReply } from "sessile/openai";
import { afterAll, expect, it } from "vitest";
import { base64, png } from "../../attachments/samples.js";

const dir = mkdtempSync(join(tmpdir(), "sessile-acp-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const model = "gpt-5";
const usage = { input_tokens: 90, output_tokens: 10, total_tokens: 100 };

/** Answers with the digests of the images that a request has; a question with "Once more" is a call first. */
function provider(requests: string[]) {
  return (value: unknown) => {
    const request = JSON.stringify(value);
    requests.push(request);
    const images = [...request.matchAll(/data:image\/png;base64,([A-Za-z0-9+/=]+)/g)];
    const seen = images.map(([, data = ""]) => digest(Buffer.from(data, "base64")).slice(-8));
    const resourceId = /res_[0-9A-Za-z_-]+/.exec(request)?.[0] ?? "";
    const isCall = request.includes("Once more") && images.length === 0;
    const item = isCall
      ? {
          type: "function_call",
          id: "fc_1",
          call_id: "call_1",
          name: viewToolName,
          arguments: JSON.stringify({ resourceId, reason: "The user asks for it." }),
        }
      : {
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text: `I see ${seen.join()}.` }],
        };
    return { id: "resp_1", model, status: "completed", output: [item], usage };
  };
}

/** The blocks of a prompt as a message. Remote links are descriptors, and are not fetched. */
async function messageOf(prompt: readonly acp.ContentBlock[], blobs: BlobStore) {
  const parts: (string | Resource)[] = [];
  for (const block of prompt) {
    if (block.type === "text") parts.push(block.text);
    else if (block.type !== "audio")
      parts.push(await ingest(block as StoredSource, { blobs, readFile: readLocalFile }));
  }
  return userMessage(...parts);
}

function agentOf(sessions: SessionStore, blobs: BlobStore, ask: ReturnType<typeof provider>) {
  const open = new Map<string, Session>();
  const methods = acp.methods.agent;
  return acp
    .agent({ name: "agent" })
    .onRequest(methods.initialize, () => ({
      protocolVersion: acp.PROTOCOL_VERSION,
      agentCapabilities: { loadSession: true, promptCapabilities: { image: true } },
    }))
    .onRequest(methods.session.new, async ({ params }) => {
      const session = await sessions.create({ cwd: params.cwd });
      open.set(session.id, session);
      return { sessionId: session.id };
    })
    .onRequest("session/list", async () => {
      const rows = [];
      for await (const summary of sessions.list()) rows.push(acpSessionInfo(summary));
      return { sessions: rows };
    })
    .onRequest("session/load", async ({ params, client }) => {
      const session = await sessions.open(params.sessionId, { mode: "write" });
      open.set(session.id, session);
      for await (const update of acpReplay(session, { blobs }))
        await client.notify("session/update", { sessionId: session.id, update });
      return {};
    })
    .onRequest(methods.session.prompt, async ({ params, client }) => {
      const session = open.get(params.sessionId) as Session;
      await session.appendMessage(await messageOf(params.prompt, blobs));
      for (;;) {
        const target = openaiResponses({ model });
        const { value } = await project(await session.context(), target, { blobs, viewTool: true });
        const message = readOpenaiResponsesReply(ask(value) as never, { model });
        const entry = await session.appendMessage(message);
        const calls = toolCalls(message);
        for (const call of calls) await session.appendMessage(await runViewTool(session, call, { blobs }));
        if (calls.length > 0) continue;
        const said = message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
        const update = {
          sessionUpdate: "agent_message_chunk",
          messageId: entry.id,
          content: { type: "text", text: said },
        } as const;
        await client.notify("session/update", { sessionId: session.id, update });
        return { stopReason: "end_turn" };
      }
    });
}

// @covers R11
it("an editor attaches images, gets answers about them, looks again, and loads the session anew", async () => {
  const blobs = fileBlobStore({ dir: join(dir, "blobs") });
  const sessions = fileSessionStore({ dir: join(dir, "sessions"), durability: "os", blobs });
  const requests: string[] = [];
  const updates: acp.SessionUpdate[] = [];
  const [inline, onDisk] = [png(20, 10), png(30, 10)];
  const [first, second] = [inline, onDisk].map((bytes) => digest(bytes).slice(-8));
  const path = join(dir, "outside.png");
  writeFileSync(path, onDisk);
  const said = () =>
    updates.flatMap((update) => ("content" in update ? [JSON.stringify(update.content)] : []));

  const editor = acp.client({ name: "editor" }).onNotification("session/update", ({ params }) => {
    updates.push(params.update);
  });
  await editor.connectWith(agentOf(sessions, blobs, provider(requests)), async (context) => {
    await context.request(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: {},
    });
    const { sessionId } = await context.request(acp.methods.agent.session.new, { cwd: dir, mcpServers: [] });
    const ask = (...prompt: acp.ContentBlock[]) =>
      context.request(acp.methods.agent.session.prompt, { sessionId, prompt });
    const { stopReason } = await ask(
      { type: "text", text: "What is this?" },
      { type: "image", data: base64(inline), mimeType: "image/png" },
      { type: "resource_link", uri: pathToFileURL(path).href, name: "outside.png" },
      { type: "resource_link", uri: "https://a.example/remote.png", name: "remote.png" },
    );
    expect(stopReason).toBe("end_turn");
    expect(said().at(-1)).toContain(`I see ${first},${second}.`);
    rmSync(path);
    // Later turns have descriptors, until the model views an image again.
    await ask({ type: "text", text: "Thanks." });
    expect(said().at(-1)).toContain("I see .");
    await ask({ type: "text", text: "Once more, please." });
    expect(said().at(-1)).toContain(`I see ${first}.`);

    const log = readFileSync((await sessions.latest())?.location ?? "", "utf8");
    for (const bytes of [inline, onDisk]) {
      expect(log).not.toContain(base64(bytes));
      expect(log).toContain(digest(bytes));
    }
    const entries = log
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(entries.filter(({ type }) => type === "resource_view")).toMatchObject([
      { reason: "The user asks for it." },
    ]);
    const replies = entries.flatMap(({ message }) => {
      const { role, usage } = (message ?? {}) as { readonly role?: string; readonly usage?: unknown };
      return role === "assistant" ? [usage] : [];
    });
    expect(replies).toHaveLength(4);
    for (const each of replies) expect(each).toMatchObject({ input: 90, output: 10 });

    // Another connection loads what the first one left.
    updates.length = 0;
    const { sessions: rows } = await context.request("session/list", {});
    expect(rows).toMatchObject([{ sessionId, cwd: dir, title: expect.stringContaining("What is this?") }]);
    await context.request("session/load", { sessionId, cwd: dir, mcpServers: [] });
    expect(updates.map(({ sessionUpdate }) => sessionUpdate)).toEqual([
      ...Array(4).fill("user_message_chunk"),
      "agent_message_chunk",
      "user_message_chunk",
      "agent_message_chunk",
      "user_message_chunk",
      "tool_call",
      "tool_call_update",
      "agent_message_chunk",
    ]);
    expect(said().join()).toContain(base64(inline));
  });
  const [asked] = (await (await sessions.open((await sessions.latest()) as never)).context()).items;
  expect(resourcesIn(asked === undefined ? [] : [asked.message]).map(({ kind }) => kind)).toEqual([
    "image",
    "image",
    "link",
  ]);
  expect(requests[0]).toContain("https://a.example/remote.png");
  expect(requests[1]).not.toContain("input_image");
});
