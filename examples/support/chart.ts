/** One moment of a session. */
export interface ChartPoint {
  readonly tokens: number;
  /** What the context may come to at this moment, in tokens. */
  readonly limit: number;
  /** Something that happened here, as one character. */
  readonly mark?: string;
}

/** The size of a chart, its axis not counted. */
export interface ChartSize {
  readonly width: number;
  readonly height: number;
}

/**
 * A chart of a context's size over time, in plain characters: a column for so many moments, as high as the largest of
 * them, the limit as a line, and below it a line for each kind of mark.
 */
export function chartLines(points: readonly ChartPoint[], { width, height }: ChartSize): readonly string[] {
  const columns = columnsOf(points, Math.min(width, points.length));
  const top = Math.max(1, ...columns.flatMap(({ tokens, limit }) => [tokens, limit]));
  const rowOf = (tokens: number) => Math.min(height - 1, Math.floor((tokens / top) * height));
  const lines: string[] = [];
  for (let row = height - 1; row >= 0; row--) {
    const cells = columns.map(({ tokens, limit }) => {
      if (rowOf(limit) === row) return "-";
      return tokens > 0 && row <= rowOf(tokens) ? "#" : " ";
    });
    const isLabelled = row === height - 1 || row === 0 || row === Math.floor(height / 2);
    const label = isLabelled ? `${Math.round(((row + (row > 0 ? 1 : 0)) / height) * (top / 1000))}k` : "";
    lines.push(`${label.padStart(5)} |${cells.join("")}`.trimEnd());
  }
  lines.push(`${" ".repeat(6)}+${"-".repeat(columns.length)}`);
  for (const kind of new Set(points.flatMap(({ mark }) => mark ?? []))) {
    const cells = columns.map(({ marks }) => (marks.has(kind) ? kind : " "));
    lines.push(`${" ".repeat(7)}${cells.join("")}`.trimEnd());
  }
  return lines;
}

function columnsOf(points: readonly ChartPoint[], count: number) {
  return Array.from({ length: count }, (_, at) => {
    const from = Math.floor((at * points.length) / count);
    const some = points.slice(from, Math.floor(((at + 1) * points.length) / count));
    return {
      tokens: Math.max(...some.map(({ tokens }) => tokens)),
      limit: Math.max(...some.map(({ limit }) => limit)),
      marks: new Set(some.map(({ mark }) => mark)),
    };
  });
}
