import fc from "fast-check";
import {
  type AssistantMessage,
  type BlobRef,
  type BlobStore,
  buildSessionContext,
  type Context,
  describeResource,
  digest,
  type ImageBlock,
  type Message,
  parseSession,
  type Resource,
  type SessionEntry,
  type StoredResource,
  type TextBlock,
} from "sessile";
import { SessileError } from "sessile/errors";
import { bytesOf, gif, gifFrame, jpeg, jpegSegment, png, pngChunk, sof } from "../support/media-files.js";
import { sessionOf } from "./entries.js";

/**
 * Sessions with everything in them that makes a provider refuse a request. Every text has a word of its own, `w12w` and so on,
 * and every attachment bytes of its own, so that a projection can be searched for what became of each.
 */
export interface HazardousSession {
  readonly entries: readonly SessionEntry[];
  readonly blobs: Pick<BlobStore, "get">;
}

/** A model as messages name it, and what it would sign. */
export interface HazardMaker {
  readonly provider: string;
  readonly model: string;
  readonly api: string;
  /** The signature of reasoning that says this word. */
  readonly signed?: (word: string) => string;
  /** An opaque block that holds this word. */
  readonly opaque?: (word: string) => unknown;
}

type Piece = (typeof pieces)[number];

const pieces = [
  "text",
  "text",
  "text",
  "blank",
  "surrogate",
  "nul",
  "inline",
  "inlineMistyped",
  "inlineBroken",
  "image",
  "jpeg",
  "gif",
  "animated",
  "wide",
  "pdf",
  "textFile",
  "unknownType",
  "link",
  "missing",
  "corrupt",
  "notAnImage",
  "again",
] as const;
const saidPieces = [
  "text",
  "text",
  "trailing",
  "blank",
  "signed",
  "signed",
  "unsigned",
  "redacted",
  "call",
  "call",
  "call",
  "callAgain",
  "oddArguments",
  "opaque",
  "resource",
] as const;
/** Ids of calls as providers give them, some of them no other takes. */
const callIds = [
  "call_0",
  "call_1",
  "toolu_01ABC",
  "call_x|fc_y",
  "__proto__",
  "a b:c/d",
  "é",
  "x".repeat(70),
  "",
] as const;

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("user" as const),
      content: fc.array(fc.constantFrom(...pieces), { maxLength: 4 }),
      name: fc.option(fc.constantFrom("Alice", "[Eve]\n:", " "), { nil: undefined }),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      kind: fc.constant("assistant" as const),
      content: fc.array(fc.constantFrom(...saidPieces), { maxLength: 5 }),
      maker: fc.nat(),
      ids: fc.array(fc.constantFrom(...callIds), { minLength: 5, maxLength: 5 }),
      stop: fc.constantFrom("stop" as const, "stop", "toolUse", "length", "aborted", "error"),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("result" as const),
      content: fc.array(fc.constantFrom(...pieces), { maxLength: 3 }),
      /** Of the calls so far the last but so many; beyond them a call that is not there. */
      back: fc.oneof(fc.constant(0), fc.nat({ max: 6 })),
      isError: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("bash" as const), hidden: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("custom" as const),
      content: fc.array(fc.constantFrom(...pieces), { maxLength: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("system" as const), section: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("branchSummary" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("compaction" as const), keep: fc.nat({ max: 8 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("edit" as const),
      back: fc.nat({ max: 6 }),
      how: fc.constantFrom("leaveOut" as const, "text", "dropFirst"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pin" as const), back: fc.nat({ max: 6 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("view" as const), back: fc.nat({ max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("branch" as const), back: fc.nat({ max: 5 }) }) },
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Hazardous sessions of up to so many steps, in which these models spoke. */
export function hazardousSession(
  maxLength: number,
  makers: readonly HazardMaker[],
): fc.Arbitrary<HazardousSession> {
  return fc
    .array(step, { minLength: 1, maxLength, size: "max" })
    .map((steps) => new Builder(makers).build(steps));
}

/** The context of a session at one of its entries; of the last one by default. */
export function contextAt({ entries }: HazardousSession, upTo = entries.length): Context {
  const some = entries.slice(0, upTo);
  const { text } = sessionOf(some);
  return buildSessionContext(parseSession(text), some.at(-1)?.id ?? null);
}

class Builder {
  readonly #makers: readonly HazardMaker[];
  readonly #entries: SessionEntry[] = [];
  readonly #bytes = new Map<BlobRef, Uint8Array | "corrupt">();
  readonly #resources: Resource[] = [];
  readonly #calls: { readonly id: string; readonly name: string }[] = [];
  #parentId: string | null = null;
  #words = 0;

  constructor(makers: readonly HazardMaker[]) {
    this.#makers = makers;
  }

  build(steps: readonly Step[]): HazardousSession {
    for (const one of steps) this.#take(one);
    const bytes = this.#bytes;
    return {
      entries: this.#entries,
      blobs: {
        async get(ref) {
          const found = bytes.get(ref);
          if (found !== "corrupt") return found;
          const details = { expected: ref, actual: "sha256:0", size: 1 };
          throw new SessileError("BLOB_CORRUPT", "damaged", { details });
        },
      },
    };
  }

  #word(): string {
    return `w${this.#words++}w`;
  }

  #append(fields: object): void {
    const id = this.#entries.length.toString(16).padStart(8, "0");
    const timestamp = "2026-01-01T00:00:00.000Z";
    this.#entries.push({ ...fields, id, parentId: this.#parentId, timestamp } as SessionEntry);
    this.#parentId = id;
  }

  #message(message: Message): void {
    this.#append({ type: "message", message });
  }

  #idBack(back: number): string {
    return this.#entries.at(-1 - back)?.id ?? "missing";
  }

  #take(one: Step): void {
    const timestamp = 1;
    switch (one.kind) {
      case "user": {
        const content = this.#shown(one.content);
        const name = one.name === undefined ? {} : { name: one.name };
        this.#message({ role: "user", content, ...name, timestamp });
        return;
      }
      case "assistant":
        this.#message(this.#said(one));
        return;
      case "result": {
        const call = this.#calls.at(-1 - one.back) ?? { id: "nobody", name: "none" };
        this.#message({
          role: "toolResult",
          toolCallId: call.id,
          toolName: call.name,
          content: this.#shown(one.content),
          isError: one.isError,
          timestamp,
        });
        return;
      }
      case "bash":
        this.#message({
          role: "bashExecution",
          command: this.#word(),
          output: this.#word(),
          exitCode: 1,
          cancelled: false,
          truncated: true,
          ...(one.hidden ? { excludeFromContext: true } : {}),
          timestamp,
        });
        return;
      case "custom":
        this.#append({
          type: "custom_message",
          customType: "x",
          content: this.#shown(one.content),
          display: true,
        });
        return;
      case "system":
        this.#message({
          role: "system",
          content: this.#word(),
          ...(one.section ? { sections: { a: this.#word(), b: null } } : {}),
          timestamp,
        });
        return;
      case "branchSummary":
        this.#append({ type: "branch_summary", fromId: "root", summary: this.#word() });
        return;
      case "compaction":
        this.#append({
          type: "compaction",
          summary: this.#word(),
          firstKeptEntryId: this.#idBack(one.keep),
          tokensBefore: 1,
        });
        return;
      case "edit": {
        const target = this.#entries.at(-1 - one.back);
        if (target === undefined) return;
        this.#append({
          type: "context_edit",
          targetId: target.id,
          replacement: this.#replacement(target, one.how),
        });
        return;
      }
      case "pin":
        this.#append({ type: "context_pin", targetId: this.#idBack(one.back), pinned: true });
        return;
      case "view":
        this.#append({
          type: "resource_view",
          resourceId: this.#resources.at(-1 - one.back)?.resourceId ?? "res_ffffffffffffffff",
        });
        return;
      case "branch":
        this.#parentId = this.#entries.at(-1 - one.back)?.id ?? null;
        return;
    }
  }

  #replacement(target: SessionEntry, how: "leaveOut" | "text" | "dropFirst"): unknown {
    if (how === "leaveOut") return null;
    if (how === "text" || target.type !== "message") return { content: this.#word() };
    const { message } = target;
    const content = "content" in message && typeof message.content !== "string" ? message.content : [];
    return { content: content.slice(1) };
  }

  #shown(kinds: readonly Piece[]): (TextBlock | ImageBlock)[] {
    return kinds.map((kind) => this.#piece(kind));
  }

  #piece(kind: Piece): TextBlock | ImageBlock {
    const text = (text: string): TextBlock => ({ type: "text", text });
    const word = this.#word();
    const inline = (bytes: Uint8Array, mimeType: string): ImageBlock => ({
      type: "image",
      data: Buffer.from(bytes).toString("base64"),
      mimeType,
    });
    switch (kind) {
      case "text":
        return text(`${word} "quoted" \n`);
      case "blank":
        return text([" \n", "", "\t"][this.#words % 3] as string);
      case "surrogate":
        return text(`\ud83d${word}\udc00`);
      case "nul":
        return text(`\0${word}\u0007\u2028`);
      case "inline":
        return inline(pngOf(word), "image/png");
      case "inlineMistyped":
        return inline(jpegOf(word), "image/png");
      case "inlineBroken":
        return { type: "image", data: "not base64!", mimeType: "image/png" };
      case "image":
        return this.#stored(pngOf(word), "image/png", { width: 2, height: 3 });
      case "jpeg":
        return this.#stored(jpegOf(word), "image/jpeg");
      case "gif":
        return this.#stored(gifOf(word, 1), "image/gif");
      case "animated":
        return this.#stored(gifOf(word, 2), "image/gif");
      case "wide":
        return this.#stored(pngOf(word, 9000), "image/png", { width: 9000, height: 3 });
      case "pdf":
        return this.#stored(bytesOf(`%PDF-1.7\n${word}\n%%EOF\n`), "application/pdf");
      case "textFile":
        return this.#stored(bytesOf(`file ${word}`), "text/markdown");
      case "unknownType":
        return this.#stored(bytesOf([0, 1, 2], word), "application/octet-stream");
      case "link":
        return this.#resource({
          resourceId: this.#resourceId(),
          kind: "link",
          source: "link",
          uri: `https://example.com/${word}`,
        });
      case "missing":
        return this.#stored(pngOf(word), "image/png", {}, "missing");
      case "corrupt":
        return this.#stored(pngOf(word), "image/png", {}, "corrupt");
      case "notAnImage":
        return this.#stored(bytesOf(`<html>${word}</html>`), "image/png");
      case "again": {
        const resource = this.#resources.at(-1);
        return resource === undefined ? text(word) : this.#resource(resource);
      }
    }
  }

  #resourceId(): string {
    return `res_${this.#resources.length.toString(16).padStart(16, "0")}`;
  }

  #stored(
    bytes: Uint8Array,
    mediaType: string,
    more: Partial<StoredResource> = {},
    state: "there" | "missing" | "corrupt" = "there",
  ): TextBlock {
    const blob = digest(bytes);
    if (state !== "missing") this.#bytes.set(blob, state === "there" ? bytes : "corrupt");
    return this.#resource({
      resourceId: this.#resourceId(),
      kind: mediaType.startsWith("image/") ? "image" : "file",
      source: "upload",
      name: "a [file]\n.x",
      mediaType,
      size: bytes.length,
      blob,
      contentSha256: blob.slice("sha256:".length),
      ...more,
    });
  }

  #resource(resource: Resource): TextBlock {
    this.#resources.push(resource);
    return { type: "text", text: describeResource(resource), resource };
  }

  #said({ content, maker: at, ids, stop }: Step & { readonly kind: "assistant" }): AssistantMessage {
    const maker = this.#makers[at % this.#makers.length] as HazardMaker;
    const blocks = content.map((kind, index): AssistantMessage["content"][number] => {
      const word = this.#word();
      switch (kind) {
        case "text":
          return { type: "text", text: word };
        case "trailing":
          return { type: "text", text: `${word} \n` };
        case "blank":
          return { type: "text", text: "\n\n" };
        case "signed":
          return {
            type: "thinking",
            thinking: word,
            thinkingSignature: maker.signed?.(word) ?? `sig${word}`,
          };
        case "unsigned":
          return { type: "thinking", thinking: word };
        case "redacted":
          return {
            type: "thinking",
            thinking: "",
            thinkingSignature: maker.signed?.(word) ?? `sig${word}`,
            redacted: true,
          };
        case "call":
        case "oddArguments":
        case "callAgain": {
          const known = this.#calls.at(-1)?.id ?? "call_0";
          const id = kind === "callAgain" ? known : (ids[index] as string);
          const name = index % 2 === 0 ? "read" : "odd name/é";
          this.#calls.push({ id, name });
          const odd = [word, [word], { "\ud800": word }, 3, null][index];
          return { type: "toolCall", id, name, arguments: kind === "oddArguments" ? odd : { path: word } };
        }
        case "opaque":
          return { type: "opaque", data: maker.opaque?.(word) ?? { type: "mystery", word } };
        case "resource":
          return this.#stored(pngOf(word), "image/png");
        default:
          throw new TypeError(kind satisfies never);
      }
    });
    const { provider, model, api } = maker;
    return { role: "assistant", content: blocks, provider, model, api, stopReason: stop, timestamp: 1 };
  }
}

function pngOf(word: string, width = 2): Uint8Array {
  return png({ width, height: 3 }, [pngChunk("tEXt", bytesOf(`k\0${word}`))]);
}

function jpegOf(word: string): Uint8Array {
  return jpeg(jpegSegment(0xfe, word), sof({ width: 4, height: 5 }));
}

function gifOf(word: string, frames: number): Uint8Array {
  const comment = bytesOf([0x21, 0xfe, word.length], word, [0]);
  return gif({ width: 2, height: 2 }, [comment, ...Array.from({ length: frames }, () => gifFrame(3))]);
}
