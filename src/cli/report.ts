/** The report of an import or export for people: counts by type of record, and findings. */

import type { InteropReport } from "../interop/index.js";
import { type Output, table } from "./output.js";

export async function printReport({ counts, findings, exact }: InteropReport, out: Output): Promise<void> {
  const rows = Object.entries(counts).map(([type, { read, mapped, kept }]) => [
    out.clean(type),
    String(read),
    String(mapped),
    String(kept),
  ]);
  const columns = [
    { title: "record" },
    { title: "read", align: "right" },
    { title: "entries", align: "right" },
    { title: "kept as is", align: "right" },
  ] as const;
  if (rows.length > 0) await out.line(...table(columns, rows, out.columns));
  for (const { code, file, line, entryId, text } of findings) {
    const place = [file, line, entryId].filter((part) => part !== undefined).join(" ");
    await out.line(`${out.style("yellow", code)} ${out.clean(`${place === "" ? "" : `${place}: `}${text}`)}`);
  }
  if (findings.length === 0) await out.line(out.style("green", exact ? "every byte is kept" : "no loss"));
}
