import { crc32, deflateSync } from "node:zlib";
import {
  type AttachmentReport,
  type BlobStore,
  type Context,
  type ContextMessage,
  contextFrom,
  type NeutralRequest,
  type Part,
  type ProjectOptions,
  project,
  type StoredResource,
  type Target,
} from "sessile";
import { SessileError } from "sessile/errors";
import { expect } from "vitest";

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}

/** A PNG of one grey, whole and valid. */
export function png(width = 2, height = 3, grey = 128): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(8, 8);
  const rows = Buffer.alloc((width + 1) * height, grey);
  for (let row = 0; row < height; row++) rows[row * (width + 1)] = 0;
  return Uint8Array.from(
    Buffer.concat([
      Buffer.from("89504e470d0a1a0a", "hex"),
      chunk("IHDR", header),
      chunk("IDAT", deflateSync(rows)),
      chunk("IEND", new Uint8Array()),
    ]),
  );
}

/** A GIF of one pixel. */
export const gif = Uint8Array.from(
  Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64"),
);

export const pdf = bytesOf("%PDF-1.7\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n");

/** Bytes of text. */
export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/** What a Git LFS checkout without the objects has in place of a file. */
export const lfsPointer = bytesOf(
  `version https://git-lfs.github.com/spec/v1\noid sha256:${"a".repeat(64)}\nsize 12345\n`,
);

/** Ids in order: res_…0001 and so on. */
export function countingIds(): () => string {
  let count = 0;
  return () => `res_${(++count).toString(16).padStart(16, "0")}`;
}

/** An image that no store has, unless its blob is named. */
export function image(number: number, more: Partial<StoredResource> = {}): StoredResource {
  const digits = number.toString(16).padStart(16, "0");
  return {
    resourceId: `res_${digits}`,
    kind: "image",
    name: `shot-${number}.png`,
    mediaType: "image/png",
    size: 100,
    contentSha256: digits.repeat(4),
    blob: `sha256:${digits.repeat(4)}`,
    width: 640,
    height: 480,
    source: "upload",
    ...more,
  };
}

/** A store in which every blob is the same PNG, except those that are missing or damaged; records the reads. */
export function everyBlob(missing: readonly string[] = [], damaged: readonly string[] = []) {
  const reads: string[] = [];
  const blobs: Pick<BlobStore, "get"> = {
    async get(ref) {
      reads.push(ref);
      if (missing.includes(ref)) return undefined;
      if (damaged.includes(ref)) {
        const details = { expected: ref, actual: "sha256:0", size: 1 };
        throw new SessileError("BLOB_CORRUPT", "damaged", { details });
      }
      return png();
    },
  };
  return { blobs, reads };
}

/** A context of these messages, with a view of a resource before each place named. */
export function contextWith(
  messages: readonly ContextMessage[],
  views: readonly { readonly item: number; readonly resourceId: string }[] = [],
): Context {
  return { ...contextFrom(messages), views: views.map((view, at) => ({ entryId: `v${at}`, ...view })) };
}

const everyMedia: Target<NeutralRequest> = {
  name: "t",
  model: { provider: "p", model: "m" },
  accepts: {
    user: ["image/*", "application/pdf", "text/plain"],
    toolResult: ["image/*", "application/pdf", "text/plain"],
  },
  render: (request) => request,
};

/** What a request to a target that accepts all media shows of each attachment, with its text. */
export async function sentAttachments(
  context: Context,
  options: ProjectOptions = {},
): Promise<readonly (AttachmentReport & { readonly text: string })[]> {
  const { attachments, value } = await project(context, everyMedia, options);
  const parts = value.turns.flatMap((turn): readonly Part[] =>
    turn.role === "user" ? [...turn.results.flatMap((result) => result.parts), ...turn.parts] : turn.parts,
  );
  return attachments.map((report) => {
    const text = parts.flatMap((part) =>
      part.type === "text" && part.origin.entryId === report.entryId && part.origin.block === report.block
        ? [part.text]
        : [],
    );
    return { ...report, text: text.join("") };
  });
}

/** The code and details of the failure. */
export async function failureOf(act: () => unknown): Promise<Pick<SessileError, "code" | "details">> {
  try {
    await act();
  } catch (error) {
    if (error instanceof SessileError) return { code: error.code, details: error.details };
    throw error;
  }
  return expect.fail("it did not fail");
}
