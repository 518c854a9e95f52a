/** Traces that `sessile export --to otlp` writes, read by OpenTelemetry's own message types and names. */

import { createRequire } from "node:module";
import * as convention from "@opentelemetry/semantic-conventions/incubating";
import fc from "fast-check";
import type { BlobStore } from "sessile";
import { exportSession, otlp } from "sessile/interop";
import { expect, it } from "vitest";
import { plainHeader } from "../../arbitraries/entries.js";
import { hazardousSession } from "../../arbitraries/hazards.js";
import { rounds } from "../../support/rounds.js";

/** A message type that protobufjs made of OpenTelemetry's definitions. */
interface MessageType {
  verify(value: object): string | null;
  fromObject(value: object): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): object;
}

const load = createRequire(import.meta.url);
const root = load("@opentelemetry/otlp-transformer/build/src/generated/root.js") as {
  readonly opentelemetry: {
    readonly proto: {
      readonly collector: {
        readonly trace: { readonly v1: { readonly ExportTraceServiceRequest: MessageType } };
      };
    };
  };
};
const request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

const names = new Set<unknown>(Object.values(convention));
/** Renamed since the package: open-telemetry/semantic-conventions-genai#440 (2026-11-29). */
names.add("gen_ai.usage.cache_write.input_tokens");
/** In the convention of 2026-11-29, not in the package. */
names.add("gen_ai.conversation.compacted");
/** This library's own, which the convention has no name for. */
const own = /^session\.(?:cwd|entry\.id|compaction\.(?:tokens_before|summary))$/;

interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly { readonly key: string }[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly attributes: readonly { readonly key: string }[];
        readonly kind: number;
        readonly name: string;
      }[];
    }[];
  }[];
}

const makers = [{ provider: "anthropic", model: "claude-sonnet-4-5", api: "anthropic-messages" }] as const;

/** JSON of the protocol has ids in hexadecimal, and protobufjs reads base64. */
const isId = (key: string) => /^(?:trace|span|parentSpan)Id$/.test(key);
const withBase64 = (value: unknown) =>
  JSON.parse(JSON.stringify(value), (key, each) =>
    isId(key) ? Buffer.from(each as string, "hex").toString("base64") : each,
  );
/** A message does not tell an empty list from an absent one. */
const withoutEmpty = (value: unknown) =>
  JSON.parse(JSON.stringify(value), (_, each) =>
    Array.isArray(each) && each.length === 0 ? undefined : each,
  );
const withHex = (value: unknown) =>
  JSON.parse(JSON.stringify(value), (key, each) =>
    isId(key) ? Buffer.from(each as string, "base64").toString("hex") : each,
  );

it("holds nothing that OpenTelemetry's types do not know, with its names", async () => {
  await fc.assert(
    fc.asyncProperty(hazardousSession(12, makers), async ({ entries, blobs: bytes }) => {
      const blobs = bytes as BlobStore;
      const session = { header: plainHeader, entries, leafId: entries.at(-1)?.id ?? null };
      const { files } = await exportSession(session, { to: otlp, blobs, now: () => 1_767_225_600_000 });
      const exported = JSON.parse(new TextDecoder().decode(files[0]?.bytes)) as Exported;
      const given = withBase64(exported);
      const message = request.fromObject(given);
      expect(request.verify(message)).toBe(null);
      // Unknown members and other types of values would be missing or changed.
      const read = request.decode(request.encode(message).finish());
      expect(withHex(request.toObject(read, { longs: String, bytes: String }))).toEqual(
        withoutEmpty(exported),
      );
      for (const { resource, scopeSpans } of exported.resourceSpans) {
        const spans = scopeSpans.flatMap((scope) => scope.spans);
        for (const { name } of spans) expect(name).toMatch(/^(?:chat|compaction|execute_tool|invoke_agent)/);
        for (const { key } of [resource, ...spans].flatMap(({ attributes }) => attributes))
          if (!own.test(key)) expect(names, key).toContain(key);
      }
    }),
    { numRuns: rounds(30, 300) },
  );
});
