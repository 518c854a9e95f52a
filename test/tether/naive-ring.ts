import type { FrameQuery, FrameReading, FrameRingOptions, SequencedFrame, TetherFrame } from "sessile/tether";

/** What a payload counts for, by the rule alone. */
export function naiveBytes(value: unknown): number {
  if (typeof value === "string") return 32 + value.length;
  if (typeof value !== "object" || value === null) return 32;
  if (Array.isArray(value)) return 32 + sum(value.map(naiveBytes));
  return 32 + sum(Object.entries(value).map(([name, member]) => name.length + naiveBytes(member)));
}

/** A ring that keeps all it ever got, and works out what a ring would hold each time it is asked. */
export class NaiveRing {
  readonly #all: SequencedFrame[];
  readonly #maxFrames: number;
  readonly #maxBytes: number;

  constructor({ maxFrames = 1000, maxBytes = 128 * 1024 * 1024, frames = [] }: FrameRingOptions) {
    this.#all = [...frames];
    this.#maxFrames = maxFrames;
    this.#maxBytes = maxBytes;
  }

  get lastSeq(): number {
    return this.#all.at(-1)?.seq ?? 0;
  }

  get bytes(): number {
    return sum(this.held().map(({ payload }) => naiveBytes(payload)));
  }

  /** As many of the newest as there is room for, and the newest in any case. */
  held(): readonly SequencedFrame[] {
    for (let from = 0; from < this.#all.length - 1; from++) {
      const rest = this.#all.slice(from);
      const bytes = sum(rest.map(({ payload }) => naiveBytes(payload)));
      if (rest.length <= this.#maxFrames && bytes <= this.#maxBytes) return rest;
    }
    return this.#all.slice(-1);
  }

  append(frame: TetherFrame): number {
    const seq = this.lastSeq + 1;
    this.#all.push({ ...frame, seq });
    return seq;
  }

  read(query: FrameQuery): FrameReading {
    const after = (query.after ?? 0) > this.lastSeq ? 0 : (query.after ?? 0);
    const ahead = this.held().filter(({ seq }) => seq > after);
    const frames: SequencedFrame[] = [];
    let nextSeq = after;
    for (const frame of ahead) {
      if (frames.length === (query.limit ?? Number.POSITIVE_INFINITY)) break;
      if (isWanted(frame, query)) {
        const bytes = sum([...frames, frame].map(({ payload }) => naiveBytes(payload)));
        if (frames.length > 0 && bytes > (query.maxBytes ?? Number.POSITIVE_INFINITY)) break;
        frames.push(frame);
      }
      nextSeq = frame.seq;
    }
    const numbers = new Set(ahead.map(({ seq }) => seq));
    let missed = 0;
    for (let seq = after + 1; seq <= nextSeq; seq++) if (!numbers.has(seq)) missed++;
    return { frames, nextSeq, missed };
  }
}

/** Whether a query is for this frame. */
export function isWanted(frame: TetherFrame, { session, types }: FrameQuery): boolean {
  if (session !== undefined && JSON.stringify(session) !== JSON.stringify(frame.session)) return false;
  return types === undefined || types.some((type) => type === frame.type);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
