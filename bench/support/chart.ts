import { type Claim, type Table, timesOf } from "./claim.js";

/** A bar: what was measured, and how many times as fast as the peer it was. */
interface Bar {
  readonly claim: string;
  readonly row: string;
  readonly times: number;
}

const width = 940;
const labelWidth = 510;
const rowHeight = 22;
const top = 58;
const fontSize = 12;

/** The rows of the tables that are held against pi, as bars on a logarithmic scale: to the right of the line ours is faster. */
export function printChart(results: readonly { readonly claim: Claim; readonly table: Table }[]): string {
  const bars = results.flatMap(({ claim, table }) => barsOf(claim.name, table));
  const most = Math.max(10, ...bars.map(({ times }) => times), ...bars.map(({ times }) => 1 / times));
  const decades = Math.log10(most);
  const span = width - labelWidth - 60;
  /** A tenth as fast and slower stands at the left end. */
  const left = Math.max(0, ...bars.map(({ times }) => -Math.log10(times)));
  const x = (times: number) => labelWidth + (span * (Math.log10(times) + left)) / (decades + left);
  const height = top + bars.length * rowHeight + 16;
  const ticks = [0.1, 1, 10, 100].filter((tick) => x(tick) >= labelWidth && x(tick) <= width - 30);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Times as fast as pi">`,
    "<style>",
    `text{font:${fontSize}px system-ui,sans-serif;fill:#24292f}.faster{fill:#1a7f5a}.slower{fill:#b35900}.line{stroke:#8c959f}`,
    "@media (prefers-color-scheme:dark){text{fill:#d0d7de}.faster{fill:#3fb68b}.slower{fill:#e0883a}.line{stroke:#6e7781}}",
    "</style>",
    `<text x="8" y="20" font-weight="600">Times as fast as pi, median of pairs of runs; a logarithmic scale</text>`,
    ...ticks.map(
      (tick) =>
        `<line class="line" x1="${round(x(tick))}" x2="${round(x(tick))}" y1="${top - 12}" y2="${height - 12}" stroke-dasharray="${tick === 1 ? "none" : "2 3"}"/>` +
        `<text x="${round(x(tick))}" y="${top - 18}" text-anchor="middle">${tick}×</text>`,
    ),
    ...bars.flatMap((bar, at) => {
      const y = top + at * rowHeight;
      const [from, to] = [Math.min(x(1), x(bar.times)), Math.max(x(1), x(bar.times))];
      return [
        `<text x="8" y="${y + 13}">${escaped(`${bar.claim}: ${bar.row}`)}</text>`,
        `<rect class="${bar.times >= 1 ? "faster" : "slower"}" x="${round(from)}" y="${y + 3}" width="${round(Math.max(1, to - from))}" height="14" rx="2"/>`,
        `<text x="${round(to + 4)}" y="${y + 14}">${timesOf(bar.times)}</text>`,
      ];
    }),
    "</svg>",
    "",
  ].join("\n");
}

function barsOf(claim: string, { head, lines }: Table): readonly Bar[] {
  if (!head.includes("pi ms")) return [];
  const column = head.findIndex((cell) => cell.startsWith("times as fast"));
  return lines.flatMap((cells) => {
    const times = Number.parseFloat(cells[column] ?? "");
    return Number.isFinite(times) && times > 0 ? [{ claim, row: cells[0] ?? "", times }] : [];
  });
}

function round(value: number): string {
  return value.toFixed(1);
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`);
}
