import fc from "fast-check";
import {
  assistantMessage,
  type BlobRef,
  type ContextMessage,
  contextFrom,
  digest,
  type LinkResource,
  memoryBlobStore,
  memorySessionStore,
  project,
  type Session,
  type StoredResource,
  toolResult,
  userMessage,
} from "sessile";
import { replayCurrentTurn as replay, runViewTool, viewToolName } from "sessile/attachments";
import { compact, rollingSummary } from "sessile/compaction";
import { describe, expect, test } from "vitest";
import { bytesOf, image, pdf, png } from "../attachments/samples.js";
import { checkedTargets } from "../support/checked-targets.js";
import { written } from "../support/projection-oracle.js";
import { rounds } from "../support/rounds.js";

const blobs = memoryBlobStore();
const bytesOfBlob = new Map<BlobRef, Uint8Array>();

async function stored(
  number: number,
  name: string,
  mediaType: string,
  bytes: Uint8Array,
): Promise<StoredResource> {
  await blobs.put(bytes);
  const blob = digest(bytes);
  bytesOfBlob.set(blob, bytes);
  const facts = { name, mediaType, size: bytes.length, blob, contentSha256: blob.slice(7) };
  if (mediaType.startsWith("image/")) return image(number, { ...facts, width: 5, height: 4 });
  const { width: _width, height: _height, ...rest } = image(number, facts);
  return { ...rest, kind: "file" };
}

const wav = bytesOf(`RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0${"\0".repeat(20)}`);
const shot = await stored(1, "screen.png", "image/png", png(5, 4));
const paper = await stored(2, "paper.pdf", "application/pdf", pdf);
const notes = await stored(3, "notes.txt", "text/plain", bytesOf("remember the milk"));
const table = await stored(4, "table.csv", "text/csv", bytesOf("a,b\n1,2\n"));
const data = await stored(5, "data.json", "application/json", bytesOf('{"milk":1}'));
const said = await stored(6, "said.wav", "audio/wav", wav);
const kinds = [shot, paper, notes, table, data, said];
const unknown = await stored(7, "core.bin", "application/octet-stream", bytesOf("\0\x01"));
const link: LinkResource = {
  resourceId: "res_00000000000000aa",
  kind: "link",
  source: "link",
  uri: "https://a.example/",
};

describe.each(checkedTargets)("$name", ({ target, breaches, makers, name }) => {
  const [maker = { provider: "p", model: "m" }] = makers;
  const isLatest = target.rules?.history === "latest";
  const says = (text: string) => assistantMessage(maker, text);
  // What one target takes, what Codex takes none of besides images and text, and models that see none.
  const isRefused = ({ mediaType }: StoredResource) =>
    (mediaType === "audio/wav" && !name.startsWith("geminiInteractions")) ||
    (mediaType === "application/pdf" && name.startsWith("codex")) ||
    (mediaType.startsWith("image/") && /palmyra|amazon-bedrock/.test(name));

  async function compacted(resource: StoredResource): Promise<Session> {
    const session = await memorySessionStore().create({ cwd: "/work" });
    await session.appendMessage(userMessage("look", resource));
    await session.appendMessage(says("seen"));
    for (let turn = 0; turn < 4; turn++) {
      await session.appendMessage(userMessage(`${turn} ${"question ".repeat(400)}`));
      await session.appendMessage(says(`${"answer ".repeat(400)}.`));
    }
    const strategy = rollingSummary({ keepRecentTokens: 200 });
    const generate = async () => ({ text: "What was found." });
    const { status } = await compact(session, { strategy, window: 4_000, generate, trigger: "manual" });
    expect(status).toBe("compacted");
    return session;
  }

  test.each(kinds)("shows $mediaType that a view brings back from before a compaction", async (resource) => {
    const session = await compacted(resource);
    await session.appendMessage(userMessage("look again"));
    const { resourceId } = resource;
    const call = {
      type: "toolCall",
      id: "abcdef123",
      name: viewToolName,
      arguments: { resourceId },
    } as const;
    await session.appendMessage(assistantMessage(maker, call));
    const message = await runViewTool(session, call, { blobs });
    expect(message).toMatchObject({ isError: false });
    await session.appendMessage(message);
    const context = await session.context();
    const projection = await project(context, target, { blobs, viewTool: true });
    expect(breaches(projection.value)).toEqual([]);
    const codes = projection.losses
      .map(({ code }) => code)
      .filter((code) => code !== "moved" && code !== "asText");
    if (isLatest) expect([projection.attachments, codes]).toEqual([[], []]);
    else if (isRefused(resource)) {
      expect(codes).toEqual(["unsupported"]);
      expect(projection.attachments).toMatchObject([{ sent: "descriptor", reason: "unsupported" }]);
      expect(written(projection.value)).toContain("(not shown: the target takes no ");
    } else {
      expect(codes).toEqual([]);
      const [report] = projection.attachments;
      expect(report).toMatchObject({ resourceId, reason: "currentTurn" });
      expect(["bytes", "text"]).toContain(report?.sent);
      const bytes = bytesOfBlob.get(resource.blob) ?? new Uint8Array();
      const [asBytes, asText] = [
        Buffer.from(bytes).toString("base64"),
        JSON.stringify(Buffer.from(bytes).toString()),
      ];
      const value = written(projection.value);
      expect(value.includes(asBytes) || value.includes(asText.slice(1, -1))).toBe(true);
    }
  });

  test("has no loss of attachments of earlier turns, which the default policy of most models describes", async () => {
    const attached = fc.array(fc.constantFrom(...kinds, link, unknown), { minLength: 1, maxLength: 3 });
    const turn = fc.record({ attached, byTool: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async (turns, viewTool) => {
          const messages = turns.flatMap(({ attached, byTool }, at): ContextMessage[] => {
            const call = { type: "toolCall", id: `abcdef12${at}`, name: "read", arguments: { at } } as const;
            return byTool
              ? [
                  userMessage("go"),
                  assistantMessage(maker, call),
                  toolResult(call, "read", ...attached),
                  says("ok"),
                ]
              : [userMessage("look", ...attached), says("ok")];
          });
          const context = contextFrom([...messages, userMessage("and now?")]);
          const { value, losses, attachments } = await project(context, target, { blobs, viewTool, replay });
          expect(losses).toEqual([]);
          expect(breaches(value)).toEqual([]);
          expect(new Set(attachments.map(({ sent }) => sent))).toEqual(
            new Set(isLatest ? [] : ["descriptor"]),
          );
        },
      ),
      { numRuns: rounds(8, 30) },
    );
  });

  test("invites to view only what a view shows, and nothing if the tool is not declared", async () => {
    const older = (block: string) =>
      `Done.\n\n<covered-resources>\nWords. Ask to view one again, by its id, before relying on details:\n${block}\n</covered-resources>`;
    const summary = older("- res_0123456789abcdef, image a.png\n- res_fedcba9876543210, file b.bin");
    const messages: ContextMessage[] = [
      { role: "compactionSummary", summary, tokensBefore: 9, timestamp: 1 },
      { role: "branchSummary", summary, fromId: "x", timestamp: 1 },
      userMessage("look", ...kinds, unknown, link),
      says("ok"),
      userMessage("and now?"),
    ];
    const text = async (viewTool: boolean) =>
      written((await project(contextFrom(messages), target, { blobs, viewTool, replay })).value);
    expect(await text(false)).not.toMatch(/\bview\b|to see it/i);
    const invited = [...(await text(true)).matchAll(/\bview (\w+)/gi)].map(([, id = ""]) => id);
    const shown = isLatest ? [] : kinds.filter((one) => !isRefused(one)).map(({ resourceId }) => resourceId);
    expect([...new Set(invited)]).toEqual(shown);
  });
});
