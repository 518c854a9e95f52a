import { isRecord } from "../../plain-values.js";
import type { ReceivedRequest } from "../local-server.js";

/** A call of `generateContent` as it came over the wire. */
export interface GeminiRequest {
  /** As in the address, such as `gemini-3-pro-preview`. */
  readonly model: string;
  /** Of the whole body. */
  readonly bytes: number;
  readonly body: Readonly<Record<string, unknown>>;
}

type WireRecord = Readonly<Record<string, unknown>>;

/** One of `contents`, and where it stands as Google writes it. */
export interface WireContent {
  readonly path: string;
  readonly role: unknown;
  readonly parts: readonly WirePart[];
}

/** One part of a content. */
export interface WirePart {
  readonly path: string;
  readonly fields: WireRecord;
  readonly call?: WireRecord;
  readonly response?: WireRecord;
}

/** Bytes in a request: of a part, or of a function response's part. */
export interface WireBlob {
  readonly path: string;
  readonly blob: WireRecord;
  /** It is part of a function response. */
  readonly nested: boolean;
}

/** What was asked, or undefined for another address. */
export function geminiRequest({ path, bytes, body }: ReceivedRequest): GeminiRequest | undefined {
  const model = /\/models\/([^/:?]+):(?:generate|streamGenerate)Content/.exec(path)?.[1];
  return model === undefined || !isRecord(body) ? undefined : { model, bytes: bytes.length, body };
}

/** The contents in order; what is no object counts as one without fields. */
export function contentsOf({ body }: GeminiRequest): readonly WireContent[] {
  return list(body.contents).map((content, at) => {
    const path = `contents[${at}]`;
    return { path, role: record(content).role, parts: partsOf(content, path) };
  });
}

/** The parts of a content, or of the system instruction. */
export function partsOf(content: unknown, path: string): readonly WirePart[] {
  return list(record(content).parts).map((value, at) => {
    const fields = record(value);
    return {
      path: `${path}.parts[${at}]`,
      fields,
      ...(isRecord(fields.functionCall) ? { call: fields.functionCall } : {}),
      ...(isRecord(fields.functionResponse) ? { response: fields.functionResponse } : {}),
    };
  });
}

/** Every part of every content. */
export function allParts(request: GeminiRequest): readonly WirePart[] {
  return contentsOf(request).flatMap(({ parts }) => parts);
}

/** All bytes in the request, in order. */
export function blobsOf(request: GeminiRequest): readonly WireBlob[] {
  return allParts(request).flatMap(({ path, fields, response }) => [
    ...(isRecord(fields.inlineData)
      ? [{ path: `${path}.inline_data`, blob: fields.inlineData, nested: false }]
      : []),
    ...list(response?.parts).flatMap((value, at) => {
      const blob = record(value).inlineData;
      const place = `${path}.function_response.parts[${at}].inline_data`;
      return isRecord(blob) ? [{ path: place, blob, nested: true }] : [];
    }),
  ]);
}

/** Major and minor version by the model's name; the newest where it does not say. */
export function versionOf(model: string): number {
  const found = /gemini-(\d+(?:\.\d+)?)/.exec(model)?.[1];
  return found === undefined ? Number.POSITIVE_INFINITY : Number(found);
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function record(value: unknown): WireRecord {
  return isRecord(value) ? value : {};
}
