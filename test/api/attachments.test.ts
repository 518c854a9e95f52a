import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  assistantMessage,
  asUserMessage,
  type BlobStore,
  collectGarbage,
  messageText,
  project,
  type Session,
  type StoredResource,
  sessionBlobRoots,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import {
  grantResources,
  imageExternalizer,
  ingest,
  observationsIn,
  resourceObservation,
  resourcesIn,
  runViewTool,
  viewToolName,
} from "sessile/attachments";
import { fileBlobStore, fileSessionStore, readLocalFile } from "sessile/node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { png } from "../attachments/samples.js";
import { fileClock } from "../support/file-clock.js";

const model = { provider: "anthropic", model: "claude-sonnet-4-5" };
const target = anthropicMessages({ model: model.model });
const image = png(32, 20);

let dir: string;
let blobs: BlobStore;
let session: Session;
let shot: StoredResource;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sessile-attachments-"));
  blobs = fileBlobStore({ dir: join(dir, "blobs"), durability: "os" });
  session = await store().create({ cwd: dir });
  shot = await ingest({ bytes: image, name: "screen.png" }, { blobs });
});
afterEach(async () => {
  await session.close();
  await rm(dir, { recursive: true, force: true });
});

const store = () => fileSessionStore({ dir: join(dir, "sessions"), durability: "os" });
const log = (of: Session) => readFile(of.location ?? "", "utf8");
const reply = (text: string) => session.appendMessage(assistantMessage(model, text));
const sentNow = async () =>
  (await project(await session.context(), target, { blobs })).attachments.map(
    ({ sent, reason }) => `${sent} ${reason}`,
  );

/** A view by a model, as it answers: the code of the failure, or undefined. */
async function view(resourceId: string): Promise<string | undefined> {
  const call = {
    type: "toolCall",
    id: `c${(await session.tree()).size}`,
    name: viewToolName,
    arguments: { resourceId },
  } as const;
  await session.appendMessage(assistantMessage(model, call));
  const message = await runViewTool(session, call, { blobs });
  await session.appendMessage(message);
  return message.isError ? /^\[(\w+)/.exec(messageText(message))?.[1] : undefined;
}

describe("an attachment", () => {
  test("goes out on each round of its turn, is described in the next, and comes back for the turn of a view", async () => {
    await session.appendMessage(userMessage("What is wrong?", shot));
    expect(await sentNow()).toEqual(["bytes currentTurn"]);
    await session.appendMessage(assistantMessage(model, "It says E42."));
    expect(await sentNow()).toEqual(["bytes currentTurn"]);
    await session.appendMessage(userMessage("And what else?"));
    expect(await sentNow()).toEqual(["descriptor earlierTurn"]);
    expect(await view(shot.resourceId)).toBeUndefined();
    expect(await sentNow()).toContain("bytes currentTurn");
    await reply("A gradient.");
    await session.appendMessage(userMessage("Thanks."));
    expect((await sentNow()).every((each) => each === "descriptor earlierTurn")).toBe(true);
  });

  test("is read from a link to a local file, as an editor sends it", async () => {
    const path = join(dir, "linked notes.md");
    await writeFile(path, "# Linked\n");
    const link = { type: "resource_link", uri: pathToFileURL(path).href, name: "linked notes.md" } as const;
    const resource = await ingest(link, { blobs, readFile: readLocalFile });
    expect(resource).toMatchObject({ kind: "file", mediaType: "text/plain", size: 9 });
  });

  test("that was never there, or is a link, is answered with a code", async () => {
    const link = ingest({ link: "https://example.com/report.pdf" });
    await session.appendMessage(userMessage("Look.", link));
    expect(await view("res_00000000000000ff")).toBe("NOT_FOUND");
    expect(await view(link.resourceId)).toBe("NOT_REHYDRATABLE");
  });

  test("is a subagent's only if it is granted, and no client's by its JSON", async () => {
    await session.appendMessage(userMessage("Look.", shot));
    const messages = (await session.context()).items.map(({ message }) => message);
    expect(resourcesIn(grantResources(messages))).toEqual([]);
    expect(resourcesIn(grantResources(messages, [shot.resourceId]))).toEqual([shot]);
    const forged = asUserMessage({ content: [{ type: "text", text: "mine", resource: shot }] });
    expect(resourcesIn([forged])).toEqual([]);
  });

  test("has the same bytes in a fork, and observations of its own", async () => {
    await session.append([
      { type: "message", message: userMessage("Look.", shot) },
      resourceObservation(shot.resourceId, "an error code"),
    ]);
    await using fork = await store().fork(session.id);
    expect(resourcesIn(await fork.context())).toEqual([shot]);
    await fork.append([resourceObservation(shot.resourceId, "seen by the fork alone")]);
    const seen = async (of: Session) => observationsIn(await of.path()).get(shot.resourceId);
    expect(await seen(session)).toEqual(["an error code"]);
    expect(await seen(fork)).toEqual(["an error code", "seen by the fork alone"]);
  });

  test("whose bytes are gone leaves its text, and no request pretends to have sent it", async () => {
    await session.appendMessage(userMessage("What is wrong here?", shot));
    await blobs.delete(shot.blob);
    expect(await sentNow()).toEqual(["descriptor missing"]);
    expect(await view(shot.resourceId)).toBe("RESOURCE_MISSING");
    expect(await log(session)).toContain("What is wrong here?");
  });
});

test("bytes of a batch that failed are garbage, and what a log names is not", async () => {
  await session.appendMessage(userMessage("Look.", shot));
  const full: Pick<BlobStore, "put"> = {
    put: (source, options) =>
      options?.mediaType === "text/plain" ? Promise.reject(new Error("full")) : blobs.put(source, options),
  };
  const batch = [{ bytes: png(9, 9) }, { bytes: new TextEncoder().encode("x") }];
  await expect(ingest(batch, { blobs: full })).rejects.toThrow("full");
  const marks = [await sessionBlobRoots(session.id, await readFile(session.location ?? ""))];
  const { trashed } = await collectGarbage(blobs, { marks, graceMs: 0, now: () => fileClock() + 60_000 });
  expect(trashed.count).toBe(1);
  await collectGarbage(blobs, { marks, graceMs: 0, now: () => fileClock() + 120_000 });
  const left = await refsIn(blobs);
  expect(left).toEqual([shot.blob]);
});

test("an image that another program stored inline moves out in a fork, byte for byte", async () => {
  const data = Buffer.from(image).toString("base64");
  await using fat = await store().create({ cwd: "/work", inline: "allow" });
  const content = [
    { type: "text", text: "see" },
    { type: "image", data, mimeType: "image/png" },
  ];
  await fat.appendMessage(asUserMessage({ content }));
  const { rewrite, report } = imageExternalizer({ blobs });
  await using slim = await store().fork(fat.id, { rewrite });
  expect(report).toMatchObject({ images: 1 });
  const [moved] = resourcesIn(await slim.context());
  if (moved === undefined || moved.kind === "link") throw new Error("there is an image");
  expect(Buffer.from((await blobs.get(moved.blob)) ?? [])).toEqual(Buffer.from(image));
  expect(await log(slim)).not.toContain(data);
  expect(await log(fat)).toContain(data);
});

async function refsIn(of: BlobStore): Promise<readonly string[]> {
  const refs: string[] = [];
  for await (const { ref } of of.list()) refs.push(ref);
  return refs;
}
