import { SessileError } from "sessile/errors";
import { type TetherImage, tetherImage } from "sessile/tether";
import { png as greyPng } from "../attachments/samples.js";
import { png } from "./media-files.js";
import { encodeBase64 } from "./plain-values.js";

/** The conversation of the tests. */
export const to = { channel: "mcp", id: "default" } as const;

/** A PNG of exactly this many bytes: readers ignore bytes after its end. */
export function pngOf(bytes: number, grey = 128): Uint8Array {
  const padded = new Uint8Array(bytes);
  padded.set(greyPng(2, 3, grey));
  return padded;
}

/** A small image on the wire. */
export const smallImage: TetherImage = tetherImage(png({ width: 2, height: 3 }));

/** A `user.message` frame with any payload. */
export const messageOf = (payload: unknown) => ({
  v: 1,
  type: "user.message",
  ts: "2026-01-31T12:00:00Z",
  session: to,
  payload,
});

/** A `user.message` frame with images only. */
export const withImages = (...images: readonly unknown[]) => messageOf({ text: "", images });

/** An image on the wire with a declared type, which may be wrong. */
export const said = (media_type: string, bytes: Uint8Array | string) => ({
  media_type,
  data: encodeBase64(typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes),
});

/** The SessileError that an act throws, as data. Other errors are rethrown. */
export function refusal(act: () => unknown): ReturnType<SessileError["toJSON"]> {
  try {
    act();
  } catch (error) {
    if (error instanceof SessileError) return error.toJSON();
    throw error;
  }
  throw new Error("expected a refusal, got none");
}
