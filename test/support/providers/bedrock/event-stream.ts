import { crc32 } from "node:zlib";

/**
 * Events as the frames of `application/vnd.amazon.eventstream`: lengths and their checksum, headers, payload, checksum.
 *
 * @see https://smithy.io/2.0/aws/amazon-eventstream.html (read as a stored copy on 2026-11-22)
 */
export function eventStreamFrames(events: readonly Readonly<Record<string, unknown>>[]): Uint8Array {
  return Buffer.concat(
    events.flatMap((event) =>
      Object.entries(event).map(([type, payload]) => frame(type, JSON.stringify(payload))),
    ),
  );
}

function frame(type: string, json: string): Buffer {
  const kind = type.endsWith("Exception") ? ["exception", ":exception-type"] : ["event", ":event-type"];
  const headers = Buffer.concat([
    header(":message-type", kind[0] as string),
    header(kind[1] as string, type),
    header(":content-type", "application/json"),
  ]);
  const payload = Buffer.from(json);
  const length = 12 + headers.length + payload.length + 4;
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const body = Buffer.concat([prelude, headers, payload]);
  const end = Buffer.alloc(4);
  end.writeUInt32BE(crc32(body), 0);
  return Buffer.concat([body, end]);
}

function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(value), 0);
  // 7 is the type of a string.
  return Buffer.concat([
    Buffer.from([Buffer.byteLength(name)]),
    Buffer.from(name),
    Buffer.from([7]),
    length,
    Buffer.from(value),
  ]);
}
