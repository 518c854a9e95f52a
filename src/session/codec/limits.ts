/** Bounds of a reader, so that no stored line can exhaust memory or the stack. */
export interface ReadLimits {
  /** Bytes of one line; longer lines are reported and skipped. Minimum 1024, default 64 MiB. */
  readonly maxLineBytes: number;
  /** Nesting of arrays and objects in one line. Minimum 8, default 256. */
  readonly maxDepth: number;
}

/** The limits that FORMAT readers and writers share by default. */
export const defaultLimits: ReadLimits = { maxLineBytes: 64 * 1024 * 1024, maxDepth: 256 };
