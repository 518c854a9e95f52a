import { SessileError } from "sessile/errors";
import { type TetherImage, tetherImage } from "sessile/tether";
import { encodeBase64 } from "../../src/internal/encode-base64.js";
import { png, pngChunk } from "./media-files.js";

/** A PNG of so many bytes, most of which mean nothing. */
export function pngOf(bytes: number): Uint8Array {
  const size = { width: 2, height: 3 };
  const least = png(size, [pngChunk("prVt")]).length;
  return png(size, [pngChunk("prVt", new Uint8Array(bytes - least))]);
}

/** A small image on the wire. */
export const smallImage: TetherImage = tetherImage(png({ width: 2, height: 3 }));

/** A `user.message` frame with this payload, whatever it is. */
export const messageOf = (payload: unknown) => ({
  v: 1,
  type: "user.message",
  ts: "2026-01-31T12:00:00Z",
  session: { channel: "mcp", id: "default" },
  payload,
});

/** The same of images alone. */
export const withImages = (...images: readonly unknown[]) => messageOf({ text: "", images });

/** Bytes on the wire that are said to be of a type. */
export const said = (media_type: string, bytes: Uint8Array | string) => ({
  media_type,
  data: encodeBase64(typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes),
});

/** The error that an act throws, as data; whatever is no SessileError is thrown on. */
export function refusal(act: () => unknown): ReturnType<SessileError["toJSON"]> {
  try {
    act();
  } catch (error) {
    if (error instanceof SessileError) return error.toJSON();
    throw error;
  }
  throw new Error("expected a refusal, got none");
}
