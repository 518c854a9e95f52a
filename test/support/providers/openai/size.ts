import type { Fault } from "../rule.js";

/** Bytes of a whole body. */
export const maxBodyBytes = 50_000_000;
/** Images of a request. */
export const maxImages = 500;
/** UTF-16 units of one text. */
export const maxTextLength = 10_485_760;

/** A body that is too large. */
export function bodyFaults(body: unknown): readonly Fault[] {
  const bytes = Buffer.byteLength(JSON.stringify(body));
  if (bytes <= maxBodyBytes) return [];
  return [{ path: "", problem: `Request too large: ${bytes} bytes, at most ${maxBodyBytes}.` }];
}

/** More images than a request takes: the first that is too many. */
export function imageCountFaults(paths: readonly string[]): readonly Fault[] {
  const path = paths[maxImages];
  if (path === undefined) return [];
  return [{ path, problem: `Too many images in request: ${paths.length}, at most ${maxImages}.` }];
}
