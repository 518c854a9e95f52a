/** The report of an import or export: bounded findings, and counts by type. */

import type { InteropFinding, InteropReport, RecordCounts, Redaction } from "./types.js";

const maxFindings = 1000;
const maxTypes = 1000;
const maxTextLength = 300;
const otherTypes = "(other types)";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Collects a report. */
export class ReportBuilder {
  readonly #findings: InteropFinding[] = [];
  readonly #counts = new Map<string, Mutable<RecordCounts>>();
  readonly #redact: Redaction | undefined;
  #agentCost: number | undefined;

  /** @param redact applied to each text, path and type of the report */
  constructor(redact?: Redaction) {
    this.#redact = redact;
  }

  /** Adds a finding; those after the first 1,000 are dropped. */
  find(finding: InteropFinding): void {
    if (this.#findings.length >= maxFindings) return;
    const { code, file, line, entryId, text } = finding;
    this.#findings.push({
      code,
      ...(file === undefined ? {} : { file: this.#text(file) }),
      ...(line === undefined ? {} : { line }),
      ...(entryId === undefined ? {} : { entryId }),
      text: this.#text(text),
    });
  }

  /** Counts a record or entry of a type. Returns whether it is the first one. */
  count(type: string, { mapped, kept }: { readonly mapped: boolean; readonly kept: boolean }): boolean {
    let key = this.#text(type);
    if (!this.#counts.has(key) && this.#counts.size >= maxTypes) key = otherTypes;
    const counts = this.#counts.get(key) ?? { read: 0, mapped: 0, kept: 0 };
    this.#counts.set(key, counts);
    counts.read++;
    if (mapped) counts.mapped++;
    if (kept) counts.kept++;
    return counts.read - counts.mapped === 1 && !mapped;
  }

  /** Sets the sum in US dollars that the agent itself counted. */
  countCost(dollars: number): void {
    this.#agentCost = dollars;
  }

  /** Counts every record as kept, since the files are. */
  keepAll(): void {
    for (const counts of this.#counts.values()) counts.kept = counts.read;
  }

  build(
    format: InteropReport["format"],
    { exact, agentVersion }: { readonly exact: boolean; readonly agentVersion?: string | undefined },
  ): InteropReport {
    return {
      format,
      ...(agentVersion === undefined ? {} : { agentVersion: this.#text(agentVersion) }),
      ...(this.#agentCost === undefined ? {} : { agentCost: this.#agentCost }),
      exact,
      counts: Object.fromEntries([...this.#counts].map(([type, counts]) => [type, { ...counts }])),
      findings: [...this.#findings],
    };
  }

  #text(text: string): string {
    const whole = this.#redact === undefined ? text : String(this.#redact(text));
    return (whole.length > maxTextLength ? `${whole.slice(0, maxTextLength)}…` : whole).toWellFormed();
  }
}
