/** Transcripts as Claude Code writes them: parallel calls, branches, compactions, notes between lines. */

import fc from "fast-check";

/** A line of a transcript. */
export type TranscriptLine = Readonly<Record<string, unknown>>;

const word = fc.constantFrom("a", "list", "files", "é", "done", "x y", "\u{1f600}");

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("prompt" as const), text: word, isMeta: rarely() }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("reply" as const),
      blocks: fc.array(fc.constantFrom("thinking", "text", "call", "call"), { minLength: 1, maxLength: 4 }),
      /** Where the results hang: each below the one before, below its own call, or before the next block. */
      results: fc.constantFrom("chained", "own", "interleaved"),
      order: fc.array(fc.nat(9), { minLength: 4, maxLength: 4 }),
      open: rarely(),
      noteBetween: rarely(),
      hasReason: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom("progress", "system", "apiError", "state" as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("attachment" as const), rendered: fc.boolean(), text: word }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("queued" as const), text: word }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("compact" as const),
      keep: fc.nat(3),
      form: fc.constantFrom("messages", "segment"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("rewind" as const), to: fc.nat(99) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("sidechain" as const), text: word }) },
);

function rarely() {
  return fc.integer({ min: 0, max: 5 }).map((value) => value === 0);
}

/** The steps of an agent, played to the lines that it writes. */
export const transcripts: fc.Arbitrary<readonly TranscriptLine[]> = fc
  .array(step, { minLength: 1, maxLength: 30 })
  .map((steps) => play(steps));

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const sessionId = "0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f";

function play(steps: readonly Step[]): readonly TranscriptLine[] {
  const lines: TranscriptLine[] = [];
  const byId = new Map<string, TranscriptLine>();
  /** Lines that a conversation can continue from. */
  let ends: string[] = [];
  let last: string | null = null;
  let count = 0;
  const add = (type: string, fields: TranscriptLine, parentUuid: string | null = last): string => {
    const uuid = `00000000-0000-4000-8000-${String(count).padStart(12, "0")}`;
    const timestamp = new Date(1_700_000_000_000 + 1000 * count++).toISOString();
    const envelope = { parentUuid, isSidechain: false, userType: "external", cwd: "/work", sessionId };
    const line = { ...envelope, version: "2.1.0", type, ...fields, uuid, timestamp };
    lines.push(line);
    byId.set(uuid, line);
    return uuid;
  };
  const say = (role: string, content: unknown, more: TranscriptLine = {}) =>
    ({ message: { role, content }, ...more }) as const;

  for (const one of steps) {
    switch (one.kind) {
      case "prompt":
        last = add("user", say("user", one.text, one.isMeta ? { isMeta: true } : {}));
        ends.push(last);
        break;
      case "reply": {
        const id = `msg_${count}`;
        const model = "claude-opus-5-5";
        const waiting: { readonly callId: string; readonly below: string }[] = [];
        const answer = (callId: string, below: string | null) => {
          const content = [{ type: "tool_result", tool_use_id: callId, content: `out ${callId}` }];
          return add("user", say("user", content, { toolUseResult: { stdout: callId } }), below);
        };
        one.blocks.forEach((type, at) => {
          const callId = `toolu_${count}`;
          const block =
            type === "text"
              ? { type, text: `text ${count}` }
              : type === "thinking"
                ? { type, thinking: `thought ${count}`, signature: `sig${count}` }
                : { type: "tool_use", id: callId, name: "Bash", input: { command: "ls" } };
          const usage = { input_tokens: 10, output_tokens: at + 1 };
          const reason = one.hasReason && at === one.blocks.length - 1 ? "end_turn" : null;
          const message = {
            id,
            type: "message",
            role: "assistant",
            model,
            content: [block],
            stop_reason: reason,
            usage,
          };
          last = add("assistant", { message, requestId: `req_${id}` });
          if (one.noteBetween && at === 0) last = add("progress", { data: {} });
          if (type !== "call") return;
          if (one.results === "interleaved") last = answer(callId, last);
          else waiting.push({ callId, below: last });
        });
        const inOrder = waiting
          .map((call, at) => ({ ...call, key: one.order[at] ?? 0 }))
          .sort((a, b) => a.key - b.key)
          .slice(one.open ? 1 : 0);
        for (const { callId, below } of inOrder) last = answer(callId, one.results === "own" ? below : last);
        if (last !== null) ends.push(last);
        break;
      }
      case "progress":
        last = add("progress", { data: { type: "hook" } });
        break;
      case "system":
        last = add("system", { subtype: "informational", content: "note" });
        break;
      case "apiError":
        last = add("assistant", {
          isApiErrorMessage: true,
          message: {
            id: `err_${count}`,
            role: "assistant",
            model: "<synthetic>",
            content: [{ type: "text", text: "API Error" }],
          },
        });
        break;
      case "state":
        lines.push({ type: "file-history-snapshot", messageId: last, snapshot: {} });
        break;
      case "attachment": {
        const rendered = one.rendered ? { rendered: [{ content: `<system-reminder>${one.text}` }] } : {};
        last = add("attachment", { attachment: { type: "hook_additional_context" }, ...rendered });
        break;
      }
      case "queued":
        last = add("attachment", {
          attachment: { type: "queued_command", prompt: one.text, commandMode: "prompt" },
        });
        break;
      case "compact": {
        if (last === null) break;
        const kept = keptBefore(last, one.keep, byId);
        const preserved = kept.map(({ uuid }) => uuid as string);
        const boundary = add(
          "system",
          { subtype: "compact_boundary", content: "Conversation compacted", logicalParentUuid: last },
          null,
        );
        const summary = add("user", say("user", `summary ${count}`, { isCompactSummary: true }), boundary);
        const [head, tail] = [preserved[0], preserved.at(-1)];
        const compactMetadata = {
          trigger: "manual",
          preTokens: 100,
          ...(head === undefined || one.form === "segment"
            ? {}
            : { preservedMessages: { anchorUuid: summary, uuids: preserved } }),
          ...(head === undefined || one.form === "messages"
            ? {}
            : { preservedSegment: { headUuid: head, anchorUuid: summary, tailUuid: tail } }),
        };
        Object.assign(byId.get(boundary) as object, { compactMetadata });
        last = summary;
        ends = [summary];
        break;
      }
      case "rewind": {
        const to = ends[one.to % Math.max(1, ends.length)];
        if (to !== undefined) last = to;
        break;
      }
      case "sidechain": {
        const side = { isSidechain: true };
        const start = add("user", say("user", one.text, side), null);
        const message = {
          id: `side_${count}`,
          role: "assistant",
          model: "m",
          content: [{ type: "text", text: "ok" }],
        };
        add("assistant", { message, ...side }, start);
        break;
      }
    }
  }
  return lines;
}

/** The last lines of a conversation that a compaction can keep: whole messages with their results, oldest first. */
function keptBefore(
  last: string,
  count: number,
  byId: ReadonlyMap<string, TranscriptLine>,
): readonly TranscriptLine[] {
  const kept: TranscriptLine[] = [];
  let whole: readonly TranscriptLine[] = [];
  let messages = 0;
  let at = byId.get(last);
  while (at !== undefined && at.subtype !== "compact_boundary" && at.isCompactSummary !== true) {
    if (messages === count) break;
    kept.unshift(at);
    const parent = byId.get(at.parentUuid as string);
    const id = messageOf(at).id;
    const isStart =
      typeof messageOf(at).content === "string" || (id !== undefined && !hasReplyBefore(parent, id, byId));
    if (isStart) {
      messages++;
      whole = [...kept];
    }
    at = parent;
  }
  return whole;
}

/** Whether an earlier line is of the same reply, with only results and notes between. */
function hasReplyBefore(
  from: TranscriptLine | undefined,
  id: unknown,
  byId: ReadonlyMap<string, TranscriptLine>,
): boolean {
  for (let at = from; at !== undefined; at = byId.get(at.parentUuid as string)) {
    if (messageOf(at).id === id) return true;
    if (typeof messageOf(at).content === "string" || messageOf(at).id !== undefined) return false;
  }
  return false;
}

function messageOf(line: TranscriptLine): TranscriptLine {
  return (line.message ?? {}) as TranscriptLine;
}
