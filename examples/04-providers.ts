// One session, every provider: what it becomes for each, and what is lost on the way.
//
//   npx tsx examples/04-providers.ts              a session with everything in it that makes a request fail elsewhere
//   npx tsx examples/04-providers.ts FILE.jsonl   any session file, pi's too, which is not changed
//
// With ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY in the environment the request is sent for real, and answered.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ingest } from "sessile/attachments";
import { type BlobStore, memoryBlobStore } from "sessile/blobs";
import { fileBlobStore } from "sessile/blobs/node";
import { assistantMessage, type Context, type ToolCall, toolResult, userMessage } from "sessile/content";
import { SessileError } from "sessile/errors";
import { type Loss, type Projection, project, toBody } from "sessile/projections";
import { anthropicMessages } from "sessile/projections/anthropic";
import type { Session } from "sessile/session";
import { fileSessionStore, openSessionFile } from "sessile/session/node";
import { check } from "./support/check.js";
import { everyTarget, models } from "./support/every-target.js";
import { fingerprint } from "./support/fingerprint.js";
import { makePdf, makePng } from "./support/make-media.js";
import { messageText } from "./support/message-text.js";
import { sendForReal } from "./support/send-for-real.js";
import { oneLine, terminalWidth } from "./support/terminal.js";

const [file] = process.argv.slice(2);
if (file === undefined) await tellStory();
else await projectFile(file);

async function projectFile(path: string): Promise<void> {
  // Whoever reads what is printed may have enough of it, as head has.
  process.stdout.on("error", () => process.exit());
  try {
    const before = await fingerprint(path);
    await using session = await openSessionFile(path);
    await projectToAll(await session.context(), memoryBlobStore());
    check("the file is unchanged", await fingerprint(path), before);
  } catch (error) {
    if (!(error instanceof SessileError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

async function tellStory(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "sessile-providers-"));
  try {
    const blobs = fileBlobStore({ dir: join(dir, "blobs") });
    await using session = await fileSessionStore({ dir: join(dir, "sessions") }).create({ cwd: dir });
    await fill(session, blobs);
    const log = await readFile(session.location ?? "", "utf8");
    const context = await session.context();

    const projections = await projectToAll(context, blobs);
    checkLosses(projections);
    check("the session is as it was", await readFile(session.location ?? "", "utf8"), log);

    await mend(session, blobs);
    for (const answer of await sendForReal(await session.context(), blobs)) {
      console.log(`\n${answer.provider} ${answer.model} says: ${oneLine(messageText(answer), 500)}`);
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** A real session: two models, attachments, calls in parallel, one of them never answered, and an image that is too wide. */
async function fill(session: Session, blobs: BlobStore): Promise<void> {
  const claude = { provider: "anthropic", model: models.anthropic, api: "anthropic-messages" };
  const gpt = { provider: "openai", model: models.openai, api: "openai-responses" };
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
  await session.append([
    { type: "message", message: { role: "system", content: "You compare pictures.", timestamp: Date.now() } },
    { type: "message", message: { ...userMessage("What changed?", shot, paper), name: "Alice" } },
    {
      type: "message",
      message: assistantMessage(
        claude,
        { type: "thinking", thinking: "I need another look.", thinkingSignature: "c2lnbmVkIGJ5IENsYXVkZQ==" },
        "Let me look. ",
        look,
        count,
      ),
    },
    { type: "message", message: toolResult(count, "2") },
    { type: "message", message: toolResult(look, "This is it now:", after) },
    { type: "model_change", provider: gpt.provider, modelId: gpt.model },
    { type: "message", message: assistantMessage(gpt, "It became smaller.", search, forgotten) },
    { type: "message", message: toolResult(search, "nothing found") },
    { type: "message", message: userMessage("And this one?", wide) },
  ]);
  // Both are of earlier turns by now: this brings one of them back.
  await session.append([{ type: "resource_view", resourceId: after.resourceId }]);
}

type Projections = ReadonlyMap<string, Projection<object>>;

async function projectToAll(context: Context, blobs: Pick<BlobStore, "get">): Promise<Projections> {
  const projections = new Map<string, Projection<object>>();
  const pathOf = ({ resource }: { readonly resource?: { readonly contentSha256: string } }) =>
    resource && `/blobs/${resource.contentSha256}.png`;
  const rows = [["target", "bytes", "tokens", "images", "losses"]];
  for (const [name, target] of Object.entries(everyTarget(pathOf))) {
    const projection = await project(context, target, { blobs });
    projections.set(name, projection);
    const { usage } = projection;
    rows.push([
      name,
      String(toBody(projection).size),
      String(usage.total),
      String(usage.imageCount),
      counted([...projection.losses, ...projection.byPolicy]),
    ]);
  }
  const widths = [0, 1, 2, 3].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  console.log("\nWhat each target gets");
  console.log(
    "  bytes of the request as JSON, tokens as estimated, images in it, and losses: how many places of the",
  );
  console.log(
    "  session are not in it as they are there, and why; notRepeated is what the agent itself remembers",
  );
  for (const row of rows) {
    const cells = row.map((cell, at) =>
      at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0),
    );
    console.log(`  ${cells.join("  ").slice(0, terminalWidth() - 2)}`);
  }
  for (const name of ["anthropicMessages", "openaiChat"]) {
    console.log(
      `\nWhat ${name} lacks, and what stands there (ENTRY/BLOCK code (whose fault) reason: instead)`,
    );
    for (const { by, entryId, block, code, reason, instead } of projections.get(name)?.losses.slice(0, 20) ??
      []) {
      const place = block === undefined ? entryId : `${entryId}/${block}`;
      const words = instead === undefined ? reason : `${reason}: ${instead}`;
      console.log(`  ${oneLine(`${place} ${code} (${by}) ${words}`, terminalWidth() - 2)}`);
    }
  }
  return projections;
}

function counted(losses: readonly Loss[]): string {
  const counts = new Map<string, number>();
  for (const { code } of losses) counts.set(code, (counts.get(code) ?? 0) + 1);
  return [...counts].map(([code, count]) => (count === 1 ? code : `${count} ${code}`)).join(", ");
}

function checkLosses(projections: Projections): void {
  console.log("");
  const codes = (name: string) => {
    const { losses = [], byPolicy = [] } = projections.get(name) ?? {};
    return new Set([...losses, ...byPolicy].map(({ code }) => code));
  };
  const whole = ["anthropicMessages", "openaiChat", "openaiResponses", "geminiContents", "bedrockConverse"];
  for (const name of whole) {
    check(`${name}: the call without a result has one that says so`, codes(name).has("interrupted"));
    const reports = projections.get(name)?.attachments ?? [];
    const described = reports.some(({ sent, reason }) => sent === "descriptor" && reason === "earlierTurn");
    check(`${name}: the picture of an earlier turn is described, and no loss`, described);
  }
  const tooWide = whole.filter((name) => codes(name).has("overLimit"));
  check("the wide picture is described where it would be refused", tooWide, [
    "anthropicMessages",
    "geminiContents",
    "bedrockConverse",
  ]);
  check("reasoning goes back to the model that made it alone", codes("openaiChat").has("reasoning"));
  check("a result's picture stands behind the results of Chat", codes("openaiChat").has("moved"));
  check("and within them for Responses", codes("openaiResponses").has("moved"), false);
  const latest = ["acpPrompt", "claudeAgentMessages", "codexExec"];
  check(
    "hosts that keep the history get what is new",
    latest.map((name) => codes(name).has("notRepeated")),
    latest.map(() => true),
  );
}

/** A refusal, in the words of the provider: found in the session, and taken out of the context. */
async function mend(session: Session, blobs: BlobStore): Promise<void> {
  console.log("\nA refusal, explained and mended");
  const target = anthropicMessages({ model: models.anthropic });
  const request = await project(await session.context(), target, { blobs });
  const turn = request.value.messages.findIndex(({ content }) => JSON.stringify(content).includes('"image"'));
  const message = `messages.${turn}.content.0: Could not process image`;
  const fault = request.explain({ status: 400, message });
  if (fault === undefined) throw new Error("the refusal is not explained");
  console.log(`  ${message}: ${fault.entryId}, block ${fault.block}, ${fault.resourceId}`);
  await session.append(fault.drafts);
  const again = await project(await session.context(), target, { blobs });
  const sent = again.attachments.filter(({ sent }) => sent === "bytes").map(({ resourceId }) => resourceId);
  check("the next request goes without it", sent.includes(fault.resourceId), false);
}
